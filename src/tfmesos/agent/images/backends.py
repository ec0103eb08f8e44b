"""How a root file system is made from an image's tree: by an overlay, or by a copy.

One file would be too many for two ways of ten lines. Mesos 1.11 knows aufs and bind, too, which nobody has any more, or
which lets nobody write; it never chooses bind.
"""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import tempfile
from pathlib import Path

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.sandboxes.trees import remove_tree

_log = logging.getLogger(__name__)

OVERLAY = "overlay"
COPY = "copy"
_PROBE = """\
set -e
mount -t overlay overlay -o "lowerdir=$1/lower,upperdir=$2/upper,workdir=$2/work" "$2/rootfs"
rm "$2/rootfs/file"
mkdir "$2/rootfs/file"
"""
"""What is removed leaves a whiteout: that is what some file systems cannot hold."""
_PROBE_S = 20.0


def choose_backend(wanted: str | None, provisioner: Path, store: Path) -> str:
    """Overlay where it works, else copy. Raises BadAgentFlags if another is wanted, or one that does not work here.

    `provisioner`: where root file systems are to be; `store`: where the images' trees are; both exist.
    """
    if wanted == COPY:
        return COPY
    if wanted not in (None, OVERLAY):
        raise _unsupported(wanted, "it can be overlay or copy")
    fault = _overlay_fault(provisioner, store)
    if fault is None:
        return OVERLAY
    if wanted == OVERLAY:
        raise _unsupported(OVERLAY, fault)
    _log.warning("no overlay works in %s, so that each container takes a copy of its image: %s", provisioner, fault)
    return COPY


def make_overlay_directories(tree: str, directory: str) -> None:
    """`upper`, `work`, `rootfs` in `directory`. An overlay has the mode of its upper directory: it is the tree's."""
    status = os.stat(tree)
    for name in ("upper", "work", "rootfs"):
        os.makedirs(f"{directory}/{name}", 0o755)
    os.chown(f"{directory}/upper", status.st_uid, status.st_gid)
    os.chmod(f"{directory}/upper", stat.S_IMODE(status.st_mode))


def _overlay_fault(provisioner: Path, store: Path) -> str | None:
    """Why an overlay cannot be mounted, and changed, in a mount namespace of its own."""
    if os.geteuid() != 0:
        return "only root can mount an overlay"
    here, there = (tempfile.mkdtemp(dir=place, prefix="probe-") for place in (provisioner, store))
    try:
        for path in (f"{here}/upper", f"{here}/work", f"{here}/rootfs", f"{there}/lower"):
            os.mkdir(path)
        Path(f"{there}/lower/file").touch()
        argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _PROBE, "sh", there, here]
        found = subprocess.run(argv, capture_output=True, text=True, timeout=_PROBE_S, stdin=subprocess.DEVNULL)
        lines = found.stderr.strip().splitlines() or ["it cannot be mounted"]
        return None if found.returncode == 0 else lines[0]
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        remove_tree(here)
        remove_tree(there)


def _unsupported(backend: str | None, reason: str) -> BadAgentFlags:
    """Mesos 1.11's text."""
    return BadAgentFlags(f"The specified provisioner backend '{backend}' is not supported: {reason}")
