"""Which OCI runtime this machine has, and whether it works here: by a container that does nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.isolators.view import View
from tfmesos.agent.oci import command
from tfmesos.agent.oci.command import Commands, Steps
from tfmesos.agent.oci.config import Place, container_json
from tfmesos.agent.oci.rights import Rights
from tfmesos.supervision import SEARCH_PATH, ProcessSpec

_WHAT = "containers with images, volumes or namespaces of their own"
USUAL = ("runc", "crun")
_PATIENCE_S = 30.0
_ANSWER = "made"


def find_program(
    wanted: str | None, rights: Rights, usual: Sequence[str] = USUAL, *, directory: Path | None = None
) -> str:
    """The path of the first of `usual` that works; `wanted`: of that one. Raises BadAgentFlags with the remedy.

    `directory`: where it is tried, else where temporary files are.
    """
    if os.geteuid() != 0:
        raise BadAgentFlags(f"{_WHAT} need an agent that runs as root")
    names = usual if wanted is None else (wanted,)
    found = [path for name in names if (path := _path_of(name)) is not None]
    if not found and wanted is not None:
        raise BadAgentFlags(f"--oci_runtime: there is no program {wanted!r}")
    if not found:
        raise BadAgentFlags(f"{_WHAT} need an OCI runtime: `apt-get install runc`, or name one by --oci_runtime")
    faults = []
    for path in found:
        fault = fault_of(path, rights, directory)
        if fault is None:
            return path
        faults.append(f"{path} does not work here: {fault}")
    raise BadAgentFlags(f"{_WHAT} need an OCI runtime: {'; '.join(faults)}")


def fault_of(program: str, rights: Rights, parent: Path | None = None) -> str | None:
    """Why it cannot make containers here, by its own words; None if it can."""
    with tempfile.TemporaryDirectory(prefix="tfmesos-oci-", dir=parent) as directory:
        bundle = Path(directory)
        commands = commands_of(program, bundle / "state")
        (bundle / "rootfs").mkdir()
        name = f"tfmesos-{uuid.uuid4().hex}"
        place = Place(rootfs=str(bundle / "rootfs"), cgroup=f"/{name}", has_host_root=True)
        (bundle / command.CONFIG).write_bytes(container_json(_program(directory), View(), place, rights))
        steps = Steps(rootfs=place.rootfs, is_host=True)
        try:
            done = _run(commands.run_to_end(name, steps), directory)
            if done.returncode == 0:
                return None if done.stdout.strip() == _ANSWER else "it runs nothing"
            _run(commands.delete(name), directory)
        except subprocess.TimeoutExpired:
            return f"it takes more than {_PATIENCE_S:g} s to run a program"
        return _last_error(bundle / command.LOG) or done.stdout.strip() or f"exit status {done.returncode}"


def commands_of(program: str, state: Path) -> Commands:
    """`state`: a directory for the runtime's own use."""
    return Commands(program=program, unshare=_path_of("unshare") or "unshare", state=str(state))


def _path_of(name: str) -> str | None:
    return shutil.which(name, path=SEARCH_PATH)


def _program(directory: str) -> ProcessSpec:
    return ProcessSpec(
        id="probe",
        argv=("echo", _ANSWER),
        environment={"PATH": SEARCH_PATH},
        directory="/",
        stdout=directory,
        stderr=directory,
    )


def _run(argv: tuple[str, ...], directory: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        cwd=directory,
        env={"PATH": SEARCH_PATH},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=_PATIENCE_S,
    )


def _last_error(log: Path) -> str | None:
    """Of a runtime's log: objects of JSON, one in a line."""
    try:
        entries = [json.loads(line) for line in log.read_text(errors="replace").splitlines()]
    except (OSError, ValueError):
        return None
    errors = [str(entry["msg"]) for entry in entries if entry.get("level") == "error"]
    return errors[-1] if errors else None
