"""What `docker run` is told of GPUs: names or nodes, never numbers (B1)."""

from __future__ import annotations

import pytest

from tfmesos.agent.gpu import DockerGpus, docker_gpu_options
from tfmesos.agent.gpu.errors import GpuError
from tfmesos.agent.images import ImageRuntime
from tfmesos.agent.isolators import Mount, Node, View

VIEW = View(
    gpus=("GPU-a", "GPU-b"),
    nodes=(
        Node(path="/dev/nvidia1", type="c", major=195, minor=1),
        Node(path="/dev/nvidiactl", type="c", major=195, minor=255),
    ),
    mounts=(Mount(source="/var/lib/mesos/gpu/nvidia_1", target="/usr/local/nvidia"),),
)
NODES = ("--device=/dev/nvidia1:/dev/nvidia1:rwm", "--device=/dev/nvidiactl:/dev/nvidiactl:rwm")
PLAIN, NVIDIA = DockerGpus(), DockerGpus(has_nvidia_runtime=True)
VOID = "--env=NVIDIA_VISIBLE_DEVICES=void"


def options(
    engine: DockerGpus,
    injection: str = "auto",
    image: tuple[str, ...] = (),
    view: View = VIEW,
    environment: dict[str, str] | None = None,
) -> tuple[str, ...]:
    return docker_gpu_options(view, engine, ImageRuntime(environment=image), environment or {}, injection=injection)


def test_an_engine_with_nvidias_runtime_gets_the_names_of_the_cards() -> None:
    assert options(NVIDIA) == ("--gpus", '"device=GPU-a,GPU-b"')


def test_an_engine_that_knows_the_cards_by_cdi_gets_these_names() -> None:
    info = {"DiscoveredDevices": [{"Source": "cdi", "ID": f"nvidia.com/gpu={name}"} for name in ("GPU-a", "GPU-b", 0)]}
    engine = DockerGpus.from_info(info)

    assert options(engine) == ("--device=nvidia.com/gpu=GPU-a", "--device=nvidia.com/gpu=GPU-b")
    assert options(engine, "cdi") == options(engine)
    with pytest.raises(GpuError, match="no CDI device GPU-a or GPU-b"):
        options(PLAIN, "cdi")


def test_any_other_engine_gets_nodes_and_the_driver_volume() -> None:
    plain = options(PLAIN, image=("PATH=/opt/bin:/bin",), environment={"LD_LIBRARY_PATH": "/mine"})

    assert plain == (
        *NODES,
        "--volume=/var/lib/mesos/gpu/nvidia_1:/usr/local/nvidia:ro",
        "--env=PATH=/opt/bin:/bin:/usr/local/nvidia/bin",
        "--env=LD_LIBRARY_PATH=/mine:/usr/local/cuda/compat:/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    )
    assert options(PLAIN, "none") == NODES
    assert options(PLAIN, image=("NVIDIA_VISIBLE_DEVICES=void",)) == NODES


def test_a_container_without_the_drivers_files_does_not_start_on_its_cards() -> None:
    view = View(gpus=VIEW.gpus, nodes=VIEW.nodes)

    with pytest.raises(GpuError, match="no files of the NVIDIA driver"):
        options(PLAIN, view=view)
    assert options(PLAIN, "none", view=view) == NODES
    assert options(PLAIN, view=View(nodes=VIEW.nodes), image=("NVIDIA_VISIBLE_DEVICES=all",)) == NODES


def test_nvidias_runtime_gives_nothing_of_its_own_beside_nodes() -> None:
    assert options(NVIDIA, "none") == (*NODES, VOID)
    without = View(nodes=VIEW.nodes[1:])
    assert options(NVIDIA, view=without, image=("NVIDIA_VISIBLE_DEVICES=all",)) == (NODES[1], VOID)


@pytest.mark.parametrize(
    ("info", "has_runtime"),
    [({"Runtimes": {"runc": {}, "nvidia": {}}}, True), ({"Runtimes": {"runc": {}}}, False), ({}, False)],
)
def test_the_engine_tells_its_runtimes(info: dict[str, object], has_runtime: bool) -> None:
    assert DockerGpus.from_info(info) == DockerGpus(has_nvidia_runtime=has_runtime)
