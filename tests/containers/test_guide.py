"""The minimal cluster with an image and a GPU, as docs/images.md has it, typed line by line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gpu_machine import GpuMachine, StartGpuMachine, View
from tests.guides import Terminal, documented_commands
from tests.images import cuda_image, saved_v1_archive


@pytest.fixture(params=["v1", "v2"])
def machine(request: pytest.FixtureRequest, start_gpu_machine: StartGpuMachine) -> GpuMachine:
    view: View = request.param
    return start_gpu_machine(cards=2, view=view, has_network=False)


@pytest.fixture
def terminal(machine: GpuMachine, tmp_path: Path) -> Iterator[Terminal]:
    """The image is one of this machine's, since Docker Hub cannot be reached: only that is set beside what is typed."""
    saved_v1_archive(tmp_path / "registry" / "nvidia" / "cuda.tar", cuda_image(), "nvidia/cuda:latest")
    places = {"MESOS_DOCKER_REGISTRY": tmp_path / "registry", "MESOS_DOCKER_STORE_DIR": tmp_path / "store"}
    terminal = Terminal(machine, {name: str(place) for name, place in places.items()})
    yield terminal
    terminal.close()


def test_the_image_sees_one_gpu(machine: GpuMachine, terminal: Terminal) -> None:
    master, agent, execute = documented_commands("images.md", "the minimal cluster")
    assert [words[0] for words in (master, agent, execute)] == ["mesos-master", "mesos-agent", "mesos-execute"]

    terminal.start(master, says=" listens on ")
    terminal.start(agent, says=" registered with ")
    executed = terminal.run(execute)

    assert executed.returncode == 0, executed.stdout + executed.stderr
    assert "TASK_FINISHED" in executed.stdout
    (shown,) = (machine.folder / "var-lib").glob("mesos/**/runs/latest/stdout")
    assert shown.read_text().count(machine.cards[0].name) == 1
