"""Jobs with GPUs on the embedded cluster of a fake GPU machine: for root and for others, alone and two at once."""

import contextlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.programs import TFRUN, Program, Result, Workplace, wait_until
from tests.dockerd import StartDockerd
from tests.gpu.cluster import GpuCluster
from tests.gpu_machine import Driver, GpuMachine, StartGpuMachine

SHOW = ("sh", "-c", 'nvidia-smi -L; echo "sees $CUDA_VISIBLE_DEVICES"')
HOLD = ("sh", "-c", 'nvidia-smi -L; echo "sees $CUDA_VISIBLE_DEVICES"; exec sleep 1000')
ROOT, NOBODY = 0, 65534
NOT_ROOT = "only root can keep tasks from opening others"
_READ_ANYTHING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
"""So that the user finds this Python and this project, wherever they are."""


class Station:
    """A user's place on a fake GPU machine."""

    def __init__(self, machine: GpuMachine, directory: Path, user: int) -> None:
        self.machine = machine
        self.workplace = Workplace(directory)
        self._user = user
        for path in (self.workplace.state, self.workplace.runtime, self.workplace.home):
            os.chown(path, user, user)

    def command(self, *words: str) -> list[str]:
        """tfrun as this user, in the user's home."""
        become = ["setpriv", f"--reuid={self._user}", f"--regid={self._user}", "--clear-groups", *_READ_ANYTHING, "--"]
        enter = ["env", f"--chdir={self.workplace.home}", f"HOME={self.workplace.home}"]
        return self.machine.command(*(become if self._user else []), *enter, *TFRUN, *words)

    def run(self, *words: str, **more: str) -> Result:
        return self.workplace.run(*self.command(*words), **more)

    @contextlib.contextmanager
    def started(self, *words: str) -> Iterator[Program]:
        with self.workplace.started(*self.command(*words)) as program:
            yield program

    def cgroups(self) -> list[Path]:
        """Those of the agents that worked here: each bears the directory of its own."""
        return [path for path in _embedded_cgroups() if str(self.workplace.state) in _owner(path)]

    def wait_empty(self) -> None:
        self.workplace.wait_empty()
        wait_until(lambda: not self.cgroups(), f"no cgroup of {self.cgroups()}", 10.0)


StartStation = Callable[..., Station]


@pytest.fixture
def place(start_gpu_machine: StartGpuMachine) -> Iterator[StartStation]:
    """Gives users their places; all are to be empty in the end."""
    stations: list[Station] = []

    def start(user: int = ROOT, on: GpuMachine | None = None, **machine: object) -> Station:
        # Not below pytest's directory, which only root can enter.
        directory = Path(tempfile.mkdtemp(prefix="gpus-"))
        directory.chmod(0o755)
        stations.append(Station(on or start_gpu_machine(has_network=False, **machine), directory, user))
        return stations[-1]

    yield start
    for station in stations:
        station.wait_empty()
        shutil.rmtree(station.workplace.directory)


def seen(result: Result, what: str = "sees") -> dict[str, list[str]]:
    """Task → the UUIDs in the lines of one kind."""
    found: dict[str, list[str]] = {}
    for task, line in re.findall(r"^\[(\S+)\] (.*)$", result.output, re.MULTILINE):
        if line.startswith(what):
            found.setdefault(task, []).extend(re.findall(r"(?:GPU|MIG)-[0-9a-f-]+", line))
    return found


@pytest.mark.cgroups
def test_a_task_of_roots_job_opens_its_own_card_alone(place: StartStation) -> None:
    station = place(cards=2)

    result = station.run("-w", "2", "-Gw", "1", "--", *SHOW)

    told, opened = seen(result), seen(result, "GPU ")
    assert (result.status, result.errors) == (0, "")
    assert opened == told
    assert sorted(told["worker:0"] + told["worker:1"]) == sorted(card.uuid for card in station.machine.cards)


@pytest.mark.cgroups
def test_a_task_in_an_image_opens_its_own_card_alone_and_finds_the_drivers_programs(
    place: StartStation, python_archive: Path
) -> None:
    station = place(cards=2)
    settings = {"MESOS_DOCKER_REGISTRY": str(python_archive.parent), "XDG_CACHE_HOME": str(station.workplace.directory)}

    result = station.run("--image", "python:3", "-w", "2", "-Gw", "1", "--", *SHOW, **settings)

    told, opened = seen(result), seen(result, "GPU ")
    assert (result.status, opened) == (0, told), result
    assert sorted(told["worker:0"] + told["worker:1"]) == sorted(card.uuid for card in station.machine.cards)


@pytest.mark.cgroups
def test_a_task_in_docker_opens_its_own_card_alone(
    place: StartStation, start_gpu_machine: StartGpuMachine, start_dockerd: StartDockerd, python_archive: Path
) -> None:
    station = place(on=start_gpu_machine(cards=2))
    engine = start_dockerd(prefix=station.machine.command)
    engine.run("load", "--input", python_archive)
    look = "import os; print('sees', os.environ.get('CUDA_VISIBLE_DEVICES'), sorted(os.listdir('/dev')))"

    result = station.run(
        "-C", "DOCKER", "--image", "python:3", "-w", "2", "-Gw", "1", "--", "python3", "-c", look,
        MESOS_DOCKER_SOCKET=str(engine.socket),
    )  # fmt: skip

    told = seen(result)
    assert result.status == 0, result
    assert sorted(told["worker:0"] + told["worker:1"]) == sorted(card.uuid for card in station.machine.cards)
    nodes = sorted(re.findall(r"nvidia\d+", line)[0] for line in result.lines)
    assert nodes == ["nvidia0", "nvidia1"]


@pytest.mark.cgroups
def test_root_who_may_not_write_cgroups_is_told_why_nothing_is_enforced(place: StartStation) -> None:
    station = place(cards=2)
    station.machine.run("mount", "-o", "remount,bind,ro", "/sys/fs/cgroup/devices")

    result = station.run("-w", "1", "-Gw", "1", "--", *SHOW)

    assert (result.status, len(seen(result)["worker:0"])) == (0, 1)
    assert result.errors.startswith("tfrun: tasks are told their GPUs by CUDA_VISIBLE_DEVICES only: ")
    assert "/sys/fs/cgroup/devices is mounted read-only" in result.errors
    assert len(result.errors.splitlines()) == 1


@pytest.mark.cgroups
def test_instances_of_a_card_in_mig_mode_are_gpus_and_who_asked_for_none_sees_none(place: StartStation) -> None:
    station = place(cards=1, mig={0: 2}, view="v2")

    # Parameter servers are stopped when the workers have ended: these wait until theirs has said what it sees.
    meet = f"{SHOW[-1]}; touch $TFMESOS_JOB_NAME; until test -e ps; do sleep 0.02; done"

    result = station.run("-w", "2", "-s", "1", "-Gw", "1", "--", "sh", "-c", meet)

    (card,) = station.machine.cards
    told = seen(result)
    assert result.status == 0, result.errors
    assert sorted(told["worker:0"] + told["worker:1"]) == sorted(one.uuid for one in card.instances)
    assert "[ps:0] sees \n" in result.output


def test_two_jobs_at_once_never_share_a_card_nor_do_two_tasks(place: StartStation) -> None:
    """The first job is told its cards only, as its user is not root; the last one may have two, and one is free."""
    first = place(NOBODY, cards=6)
    second = place(ROOT, on=first.machine)
    with first.started("-w", "2", "-Gw", "2", "--", *HOLD) as holding:
        for worker in ("worker:0", "worker:1"):
            holding.wait_output(f"[{worker}] sees")

        other = second.run("-w", "1", "-Gw", "1", "--", *SHOW)
        last = second.run("-w", "2", "-Gw", "1", "--", "true", CUDA_VISIBLE_DEVICES="4,5")

        holding.signal(signal.SIGTERM)
        held = holding.wait()
    told, opened = seen(held), seen(held, "GPU ")
    assert [len(told[f"worker:{index}"]) for index in range(2)] == [2, 2]
    assert len({*told["worker:0"], *told["worker:1"], *seen(other)["worker:0"]}) == 5
    assert len(opened["worker:0"]) == 6
    assert held.errors.startswith(f"tfrun: tasks are told their GPUs by CUDA_VISIBLE_DEVICES only: {NOT_ROOT}\n")
    assert (last.status, last.output) == (69, "")
    assert last.errors == (
        "the job asks for 2 gpus, but this machine has 6, of which CUDA_VISIBLE_DEVICES='4,5' leaves 2, "
        "and other jobs use 2 of them\n"
    )


@pytest.mark.cgroups
def test_after_kill_9_all_cards_are_free_and_no_cgroup_is_left(place: StartStation) -> None:
    station = place(cards=1)
    for victim, status in (("launcher", -signal.SIGKILL), ("embedded cluster", 1)):
        with station.started("-w", "1", "-Gw", "1", "--", *HOLD) as program:
            program.wait_output("sees")
            assert station.cgroups()
            if victim == "launcher":
                program.signal(signal.SIGKILL)
            else:
                (cluster,) = station.workplace.find("-m tfmesos.local")
                os.kill(cluster, signal.SIGKILL)
            assert program.wait().status == status

        station.wait_empty()
    assert station.run("-w", "1", "-Gw", "1", "--", "true").status == 0


def test_nvidias_library_may_be_elsewhere(place: StartStation, gpu_driver: Driver) -> None:
    station = place(cards=1, without=["nvml"])

    result = station.run("-w", "1", "-Gw", "1", "--", "true", MESOS_NVIDIA_LIB=str(gpu_driver.nvml))

    assert (result.status, result.errors) == (0, "")


@pytest.mark.cgroups
def test_on_a_master_tasks_open_their_own_cards_too(start_gpu_machine: StartGpuMachine, workplace: Workplace) -> None:
    machine = start_gpu_machine(cards=2)
    cluster = GpuCluster(machine, "--resources=cpus:4;mem:4096;disk:1024;ports:[21200-21231]")
    cluster.start()
    try:
        result = workplace.run(*TFRUN, "-m", cluster.address, "-w", "2", "-Gw", "1", "-Mw", "64", "--", *SHOW)
    finally:
        cluster.stop()

    told = seen(result)
    assert (result.status, result.errors) == (0, "")
    assert sorted(told["worker:0"] + told["worker:1"]) == sorted(card.uuid for card in machine.cards)
    assert seen(result, "GPU ") == told


def _embedded_cgroups() -> list[Path]:
    mounts = (line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines())
    trees = [before.split()[4] for before, after in mounts if after.split()[0] in ("cgroup", "cgroup2")]
    roots = [Path(tree) / "tfmesos" for tree in trees]
    return [entry for root in roots if root.is_dir() for entry in root.iterdir() if entry.is_dir()]


def _owner(cgroup: Path) -> str:
    with contextlib.suppress(OSError):
        return os.getxattr(cgroup, "trusted.tfmesos.owner").decode()
    return ""
