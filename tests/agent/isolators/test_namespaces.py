"""namespaces/pid and namespaces/ipc: what containers have for themselves."""

from __future__ import annotations

import pytest

from tests.agent.isolators.views import config, refusal_of, view_of
from tfmesos.agent.containerizer import ContainerConfig, ContainerId
from tfmesos.agent.isolators import Mount, Namespace, View
from tfmesos.agent.isolators.namespaces import IpcNamespaceIsolator, PidNamespaceIsolator
from tfmesos.wire import mesos_pb2

SHARE, PRIVATE = mesos_pb2.LinuxInfo.SHARE_PARENT, mesos_pb2.LinuxInfo.PRIVATE
PID, IPC = frozenset({Namespace.PID}), frozenset({Namespace.IPC})
PROC = Mount(source="proc", target="/proc", type="proc", options=("nosuid", "noexec", "nodev"))
SHM_OPTIONS = ("nosuid", "nodev", "strictatime", "mode=1777")
SHM = Mount(source="shm", target="/dev/shm", type="tmpfs", options=SHM_OPTIONS)
SHARED_SHM = Mount(source="/dev/shm", target="/dev/shm")


@pytest.mark.parametrize("has_image", [True, False])
async def test_a_container_sees_its_own_processes(has_image: bool) -> None:
    view = await view_of(PidNamespaceIsolator(may_share_agents=True), config(has_image=has_image))

    assert view == View(namespaces=PID, mounts=() if has_image else (PROC,))


async def test_a_nested_container_may_see_those_around_it() -> None:
    isolator = PidNamespaceIsolator(may_share_agents=False)
    parent = ContainerId("p")

    assert await view_of(isolator, config(parent=parent)) == View(namespaces=PID, mounts=(PROC,))
    shared = config(parent=parent, linux={"share_pid_namespace": True})
    assert await view_of(isolator, shared) == View(shared=PID, mounts=(PROC,))


async def test_the_agents_processes_are_seen_if_asked_for_and_allowed() -> None:
    given = config(linux={"share_pid_namespace": True})

    assert await view_of(PidNamespaceIsolator(may_share_agents=True), given) is None
    assert await refusal_of(PidNamespaceIsolator(may_share_agents=False), given) == (
        "Sharing agent pid namespace with the top-level container is not allowed"
    )


@pytest.mark.parametrize(
    ("given", "view"),
    [
        (config(), View(namespaces=IPC)),
        (config(has_image=True), View(namespaces=IPC, mounts=(SHM,))),
        (config(linux={"ipc_mode": PRIVATE}), View(namespaces=IPC, mounts=(SHM,))),
        (config(linux={"ipc_mode": SHARE}), None),
        (config(has_image=True, linux={"ipc_mode": SHARE}), View(mounts=(SHARED_SHM,))),
        (config(parent=ContainerId("p")), View(shared=IPC)),
        (config(parent=ContainerId("p"), has_image=True), View(shared=IPC, mounts=(SHM,))),
        (
            config(parent=ContainerId("p"), has_image=True, linux={"ipc_mode": SHARE}),
            View(shared=IPC, mounts=(SHARED_SHM,)),
        ),
        (config(parent=ContainerId("p"), linux={"ipc_mode": PRIVATE}), View(namespaces=IPC, mounts=(SHM,))),
    ],
)
async def test_shared_memory_follows_its_mode(given: ContainerConfig, view: View | None) -> None:
    isolator = IpcNamespaceIsolator(may_share_agents=True, default_shm_size=None)

    assert await view_of(isolator, given) == view
    assert isolator.wants_view(given) or given.root is not None or view is None


@pytest.mark.parametrize(
    ("default", "asked", "size"), [(None, 2048, 2**31), (2**20, None, 2**20), (2**20, 64, 64 * 2**20)]
)
async def test_shared_memory_has_the_size_that_is_asked_for(default: int | None, asked: int | None, size: int) -> None:
    linux = {"ipc_mode": PRIVATE} | ({} if asked is None else {"shm_size": asked})
    isolator = IpcNamespaceIsolator(may_share_agents=True, default_shm_size=default)

    view = await view_of(isolator, config(linux=linux))

    assert view is not None
    assert view.mounts[0].options == (*SHM_OPTIONS, f"size={size}")


async def test_what_cannot_be_shared_is_refused() -> None:
    isolator = IpcNamespaceIsolator(may_share_agents=False, default_shm_size=None)

    assert await refusal_of(isolator, config(linux={"ipc_mode": SHARE})) == (
        "Sharing agent IPC namespace with the top-level container is not allowed"
    )
    sized = config(parent=ContainerId("p"), linux={"ipc_mode": SHARE, "shm_size": 1})
    assert await refusal_of(isolator, sized) == "shm_size can be set only if the IPC mode is PRIVATE"


@pytest.mark.parametrize("is_found_again", [True, False])
async def test_dev_shm_of_a_container_is_not_shared_with_those_in_it(is_found_again: bool) -> None:
    isolator = IpcNamespaceIsolator(may_share_agents=True, default_shm_size=None)
    around = config(linux={"ipc_mode": PRIVATE})
    if is_found_again:
        await isolator.recover({around.id: around}, set())
    else:
        await isolator.prepare(around, {})
    nested = config(parent=around.id, linux={"ipc_mode": SHARE})

    assert await refusal_of(isolator, nested) == (
        "/dev/shm of the container c cannot be shared with those nested in it: ask for IPC mode PRIVATE"
    )
    await isolator.cleanup(around.id)
    assert await view_of(isolator, nested) == View(shared=IPC)
