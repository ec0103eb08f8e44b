"""Which OCI runtime this machine has."""

from __future__ import annotations

import os
import shutil

from tfmesos.agent.errors import BadAgentFlags

_WHAT = "containers with images, volumes or namespaces of their own"
_USUAL = ("runc", "crun")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def find_program(wanted: str | None) -> str:
    """Its path. Raises BadAgentFlags with the remedy."""
    if os.geteuid() != 0:
        raise BadAgentFlags(f"{_WHAT} need an agent that runs as root")
    for name in _USUAL if wanted is None else (wanted,):
        path = shutil.which(name, path=_PATH)
        if path is not None:
            return path
    if wanted is not None:
        raise BadAgentFlags(f"--oci_runtime: there is no program {wanted!r}")
    raise BadAgentFlags(f"{_WHAT} need an OCI runtime: `apt-get install runc`, or name one by --oci_runtime")
