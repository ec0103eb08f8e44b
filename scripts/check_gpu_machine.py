"""Check TFMesos on a machine with NVIDIA GPUs: `python scripts/check_gpu_machine.py [--python=PYTHON]`.

Runs this checkout's mesos-master, mesos-agent and mesos-execute on loopback, with all files in a temporary directory:
less than 5 minutes, no network, no setting of a card is changed. Each check is one line: `ok`, `failed`, or `not
possible` with what this machine lacks. The exit status is 1 if one failed, 2 if there is no GPU to check.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

SCRIPTS = Path(__file__).resolve().parent
SOURCES = SCRIPTS.parent / "src"
ALL_S, ONE_S, END_S = 240, 60, 20
OPENS = ("opens", "ENXIO")  # the second where no driver is behind a node: it was not withheld


class NotPossible(Exception):
    """This machine lacks what a check needs."""


class Failed(Exception):
    """A check found something wrong."""


class Cluster:
    """A master and an agent, and their tasks, one at a time."""

    def __init__(self, directory: Path, python: str, cgroups_root: str, images: Path | None = None) -> None:
        """`images`: a directory of archives; then the agent's containers can have these."""
        from tfmesos.cgroups import Hierarchies

        self.unisolated = "it needs root" if os.geteuid() != 0 else Hierarchies.detect().faults("devices")
        self.isolation = "posix/gpus" if self.unisolated else "cgroups/devices,gpu/nvidia"
        self.volumes = directory / "agent" / "gpu"
        self.python, self.directory, self.cgroups_root, self._images = python, directory, cgroups_root, images
        self._master, self._agent = _free_addresses()
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._end = time.monotonic() + ALL_S

    def start(self) -> None:
        """Until the agent is registered. Raises Failed."""
        flags = [f"--master={self._master}", f"--isolation={self.isolation}", f"--cgroups_root={self.cgroups_root}"]
        if self._images is not None:
            flags[1] += ",filesystem/linux,docker/runtime"
            flags += ["--image_providers=docker", f"--docker_registry={self._images}"]
            flags += [f"--docker_store_dir={self.directory}/store"]
        self._start("master", self._master)
        agent, log = self._start("agent", self._agent, f"--runtime_dir={self.directory}/run", *flags)
        until = time.monotonic() + self._time_s()
        while " registered with " not in log.read_text():
            if agent.poll() is not None or time.monotonic() > until:
                raise Failed(f"the agent does not start: {' | '.join(log.read_text().splitlines()[-3:])}")
            time.sleep(0.05)

    def close(self) -> None:
        """End all that was started, the tasks with the agent."""
        for daemon in reversed(self._daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(END_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
        if os.path.ismount(self.volumes):  # where no programs can be executed from the directory
            subprocess.run(["umount", self.volumes], check=False)

    def get(self, path: str) -> Any:
        """From the agent."""
        with urlopen(f"http://{self._agent}{path}", timeout=self._time_s()) as answer:
            return json.load(answer)

    def list_gpus(self, nvidia_smi: str, **variables: str) -> set[str]:
        """UUIDs."""
        return set(re.findall(r"UUID: ([\w-]+)", self._run([nvidia_smi, "-L"], **variables)))

    def task(self, python: str, what: str, gpus: int | None) -> dict[str, Any]:
        """What gpu_task.py finds in a task with so many GPUs, or in none (None). Raises Failed."""
        answer, errors = self.directory / f"{what}-{gpus}", self.directory / "errors"
        argv = ["env", f"LD_LIBRARY_PATH={os.environ.get('LD_LIBRARY_PATH', '')}"]  # no task has it from its agent
        argv += [python, str(SCRIPTS / "gpu_task.py"), what, str(answer)]
        if gpus is not None:
            argv = self._execute(f"{shlex.join(argv)} 2>{errors}", gpus)
        return _answer(answer, self._run(argv) + (errors.read_text() if errors.exists() else ""))

    def task_in(self, image: str, gpus: int) -> dict[str, Any]:
        """What gpu_task.py sees in a task with this image, which has a Python and nothing else. Raises Failed."""
        look = ["python3", "-c", (SCRIPTS / "gpu_task.py").read_text(), "look", "answer"]
        said = self._run(self._execute(shlex.join(look), gpus, f"--docker_image={image}"))
        sandboxes = self.directory.glob("agent/slaves/latest/frameworks/*/executors/check/runs/latest")
        return _answer(next(sandboxes, self.directory) / "answer", said)

    def _execute(self, command: str, gpus: int, *more: str) -> list[str]:
        words = [f"--master={self._master}", "--name=check", "--framework_capabilities=GPU_RESOURCES", *more]
        words += [f"--resources=cpus:0.1;mem:64;gpus:{gpus}", f"--command={command}"]
        return [sys.executable, "-m", "tfmesos.cli.mesos_execute", *words]

    def _start(self, name: str, address: str, *words: str) -> tuple[subprocess.Popen[bytes], Path]:
        log, (ip, _, port) = self.directory / f"{name}.log", address.partition(":")
        argv = [sys.executable, "-m", f"tfmesos.cli.mesos_{name}", f"--ip={ip}", f"--port={port}"]
        argv += [f"--work_dir={self.directory}/{name}", *words]
        with log.open("wb") as output:
            self._daemons.append(subprocess.Popen(argv, env=_environment(), stdout=output, stderr=output))
        return self._daemons[-1], log

    def _run(self, argv: list[str], **variables: str) -> str:
        env = {**_environment(), **variables}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=self._time_s())
        return done.stdout + done.stderr

    def _time_s(self) -> float:
        return max(1.0, min(ONE_S, self._end - time.monotonic()))


def _answer(file: Path, said: str) -> dict[str, Any]:
    if not file.exists():
        raise Failed(f"a task told nothing: {' | '.join(said.splitlines()[-4:])}")
    return json.loads(file.read_text())  # type: ignore[no-any-return]


def _free_addresses() -> tuple[str, str]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return f"127.0.0.1:{one.getsockname()[1]}", f"127.0.0.1:{other.getsockname()[1]}"


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MESOS_", "CUDA_"))}
    return {**kept, "PYTHONPATH": str(SOURCES), "TF_CPP_MIN_LOG_LEVEL": "3"}


class Checks:
    """Named by their methods, in order; each returns what it found."""

    def __init__(self, cluster: Cluster, archive: Path | None) -> None:
        self._cluster, self._archive = cluster, archive
        self._driver_version = ""
        self._minors: dict[str, int] = {}  # of the cards, by the UUIDs of GPUs
        self._looks: dict[int, dict[str, Any] | None] = {}

    def all(self) -> tuple[Callable[[], str], ...]:
        return (self.discovery, self.allowed_open, self.denied_open, self.uvm, self.visible_devices,
                self.cuda, self.volume, self.image, self.training_step, self.given_back)  # fmt: skip

    def driver(self) -> str:
        from tfmesos.agent.gpu import NvmlMissing, discover

        try:
            _, found = asyncio.run(discover())
        except NvmlMissing as error:
            raise NotPossible(str(error)) from error
        for card in found.cards:
            units = [part.uuid for part in card.mig] if card.is_mig else [card.uuid]
            self._minors |= dict.fromkeys(units, card.minor)
        if not self._minors:
            raise NotPossible("NVML tells of no GPU")
        self._driver_version = found.driver_version
        return f"{found.driver_version}; {', '.join(card.name for card in found.cards)}"

    def agent(self) -> str:
        self._cluster.start()
        return f"--isolation={self._cluster.isolation}"

    def discovery(self) -> str:
        offered, listed = self._cluster.get("/state")["resources"]["gpus"], self._cluster.list_gpus("nvidia-smi")
        text = f"the agent offers {offered:g} GPUs, nvidia-smi lists {', '.join(sorted(listed))}"
        return _expect(offered == len(self._minors) and self._minors.keys() <= listed, text)

    def allowed_open(self) -> str:
        return self._opens(self._own_node(), "/dev/nvidiactl")

    def denied_open(self) -> str:
        if self._cluster.unisolated:
            raise NotPossible(self._cluster.unisolated)
        cards = sorted({f"/dev/nvidia{minor}" for minor in self._minors.values()})
        tried = {f"{card} with gpus:{gpus}": self._seen(gpus)["nodes"].get(card) for gpus in (0, 1) for card in cards}
        del tried[f"{self._own_node()} with gpus:1"]
        return _expect(set(tried.values()) == {"EPERM"}, str(tried))

    def uvm(self) -> str:
        return self._opens("/dev/nvidia-uvm")

    def visible_devices(self) -> str:
        own, none = (self._seen(gpus)["visible"] for gpus in (1, 0))
        return _expect(own in self._minors and not none, f"CUDA_VISIBLE_DEVICES is {own}; without GPUs {none!r}")

    def cuda(self) -> str:
        counted = self._seen(1)["cuda"]
        if "libcuda" in str(counted):
            raise NotPossible(counted)
        return _expect(counted == 1, f"the driver counts {counted} GPUs")

    def volume(self) -> str:
        from tfmesos.agent.gpu.volume import build_driver_volume

        if os.geteuid() != 0:
            raise NotPossible("it needs root")
        volume = build_driver_volume(self._cluster.volumes, self._driver_version)  # the agent's, where it has one
        listed = self._cluster.list_gpus(f"{volume}/bin/nvidia-smi", LD_LIBRARY_PATH=f"{volume}/lib64")
        text = f"{len([*volume.glob('lib*/*')])} libraries and names; its nvidia-smi lists {len(listed)} UUIDs"
        return _expect(self._minors.keys() <= listed, text)

    def image(self) -> str:
        if self._cluster.unisolated:
            raise NotPossible(self._cluster.unisolated)
        if missing := [tool for tool in ("runc", "skopeo", "umoci") if shutil.which(tool) is None]:
            raise NotPossible(f"it needs {', '.join(missing)}")
        directory = self._cluster.directory / "image"
        directory.mkdir()
        archive = self._archive or _made_image(directory / "check:latest.tar")
        cluster = Cluster(directory, sys.executable, f"{self._cluster.cgroups_root}/image", archive.parent)
        try:
            cluster.start()
            seen = cluster.task_in(archive.stem, 1)
        finally:
            cluster.close()
        cards = {path for path in seen["nodes"] if path[-1].isdigit()}
        own = {f"/dev/nvidia{minor}" for uuid, minor in self._minors.items() if uuid == seen["visible"]}
        text = f"CUDA_VISIBLE_DEVICES is {seen['visible']}, nodes {', '.join(seen['nodes'])}; CUDA: {seen['cuda']}"
        return _expect(cards == own and (seen["cuda"] == 1 or "undefined symbol" in str(seen["cuda"])), text)

    def training_step(self) -> str:
        self.cuda()
        step = self._cluster.task(self._cluster.python, "train", 1)
        if not step["is_done"] and not (outside := self._cluster.task(self._cluster.python, "train", None))["is_done"]:
            raise NotPossible(f"it is not without Mesos, either: {outside['text']}")
        return _expect(step["is_done"], step["text"])

    def given_back(self) -> str:
        used = self._cluster.get("/metrics/snapshot")["slave/gpus_used"]
        return _expect(used == 0, f"{used:g} GPUs are in use after all tasks")

    def _seen(self, gpus: int) -> dict[str, Any]:
        """By a task with so many GPUs; it runs once, also if it fails."""
        if gpus not in self._looks:
            self._looks[gpus] = None
            self._looks[gpus] = self._cluster.task(sys.executable, "look", gpus)
        if (found := self._looks[gpus]) is None:
            raise NotPossible(f"there is no task with gpus:{gpus}, see above")
        return found

    def _own_node(self) -> str:
        return f"/dev/nvidia{self._minors[self._seen(1)['visible']]}"

    def _opens(self, *paths: str) -> str:
        tried = {path: self._seen(1)["nodes"].get(path, "ENOENT") for path in paths}
        return _expect(all(answer in OPENS for answer in tried.values()), str(tried))


def _made_image(archive: Path) -> Path:
    script = SCRIPTS.parent / "docker" / "offline_image.py"
    argv = [sys.executable, str(script), f"--tag={archive.stem}", str(archive)]
    made = subprocess.run(argv, capture_output=True, text=True)
    if made.returncode:
        raise NotPossible(f"no image can be made here, give one by --image: {made.stderr.strip()}")
    return archive


def _expect(is_so: bool, text: str) -> str:
    if not is_so:
        raise Failed(text)
    return text


def _verdict(check: Callable[[], str]) -> str:
    try:
        verdict, text = "ok", check()
    except NotPossible as error:
        verdict, text = "not possible", str(error)
    except Exception as error:  # a check that cannot go on is a failed one
        verdict, text = "failed", str(error) if isinstance(error, Failed) else repr(error)
    print(f"{check.__name__.replace('_', ' '):16} {verdict:13} {text}", flush=True)
    return verdict


def main() -> int:
    """Check, and say each verdict."""
    parser = argparse.ArgumentParser(description="Check TFMesos on a machine with NVIDIA GPUs.")
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch or TensorFlow")
    parser.add_argument(
        "--cgroups_root",
        default=f"check-gpu-{os.getpid()}",
        help="cgroup beneath which the agent's containers have theirs",
    )
    parser.add_argument(
        "--image",
        type=Path,
        metavar="FOLDER/NAME:TAG.tar",
        help="a `docker save` archive of an image with a python3; without it one is made of this machine's Debian",
    )
    options = parser.parse_args()
    sys.path.insert(0, str(SOURCES))
    with tempfile.TemporaryDirectory(prefix="check-gpu-") as directory:
        cluster = Cluster(Path(directory), options.python, options.cgroups_root)
        try:
            checks = Checks(cluster, options.image)
            for first in (checks.driver, checks.agent):  # nothing goes without these
                if (verdict := _verdict(first)) != "ok":
                    return 2 if verdict == "not possible" else 1
            return int("failed" in [_verdict(check) for check in checks.all()])
        finally:
            cluster.close()


if __name__ == "__main__":
    sys.exit(main())
