"""Which isolators are asked about a container, and how what they say becomes one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.agent.isolators.views import config
from tfmesos.agent.containerizer import ContainerConfig, ContainerId
from tfmesos.agent.isolators import (
    Capabilities,
    Command,
    Isolation,
    IsolationFailed,
    LaunchEdits,
    Mount,
    Namespace,
    Node,
    QuietIsolator,
    Rlimit,
    Shares,
    View,
)
from tfmesos.agent.isolators.view import merged
from tfmesos.wire import mesos_pb2

PARENT = ContainerId("p")
NODES = tuple(Node(path=f"/dev/x{number}", type="c", major=1, minor=number) for number in range(2))


class Saying(QuietIsolator):
    """Says the same of every container, and notes of which."""

    def __init__(self, edits: LaunchEdits, *, serves_all: bool = False, serves_docker: bool = False) -> None:
        self.serves_all = serves_all
        self.serves_docker = serves_docker
        self.prepared: list[ContainerConfig] = []
        self.updated: list[ContainerId] = []
        self.cleaned: list[ContainerId] = []
        self._edits = edits

    def wants_view(self, config: ContainerConfig) -> bool:
        return self._edits.view is not None

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        self.prepared.append(config)
        return self._edits

    async def update(self, container_id: ContainerId, shares: Shares) -> LaunchEdits:
        self.updated.append(container_id)
        return self._edits

    async def cleanup(self, container_id: ContainerId) -> None:
        self.cleaned.append(container_id)


def of_docker() -> ContainerConfig:
    return config(container=mesos_pb2.ContainerInfo(type=mesos_pb2.ContainerInfo.DOCKER))


NESTED = config(parent=PARENT)
DEBUG = replace(NESTED, is_debug=True)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (config(), ["all", "docker", "own"]),
        (NESTED, ["all"]),
        (DEBUG, []),
        (of_docker(), ["docker"]),
    ],
)
async def test_isolators_are_asked_about_what_they_serve(given: ContainerConfig, asked: list[str]) -> None:
    isolators = {
        "all": Saying(LaunchEdits(view=View(no_new_privileges=True)), serves_all=True),
        "docker": Saying(LaunchEdits(), serves_docker=True),
        "own": Saying(LaunchEdits()),
    }
    isolation = Isolation(isolators.values())

    assert isolation.needs_runtime(given) is ("all" in asked)
    prepared = await isolation.prepare(given)

    assert [name for name, isolator in isolators.items() if isolator.prepared] == asked
    assert (prepared.view is not None) is ("all" in asked)
    await isolation.cleanup(given.id)
    assert all(isolator.cleaned == [given.id] for isolator in isolators.values())


@pytest.mark.parametrize("is_found_again", [True, False])
async def test_a_container_of_docker_is_resized_by_those_that_serve_it(is_found_again: bool) -> None:
    serving, other = Saying(LaunchEdits(), serves_docker=True), Saying(LaunchEdits())
    isolation, given = Isolation([serving, other]), of_docker()
    if is_found_again:
        await isolation.recover({given.id: given}, set())
    else:
        await isolation.prepare(given)

    assert await isolation.update(given.id, {})

    assert (serving.updated, other.updated) == ([given.id], [])


async def test_only_who_heeds_shares_is_told_of_them() -> None:
    heedless = Saying(LaunchEdits())
    heedless.heeds_shares = False
    isolation = Isolation([heedless])
    await isolation.prepare(config())

    assert not isolation.is_resizing
    await isolation.update(config().id, {})

    assert heedless.updated == []


async def test_the_nodes_of_a_running_container_are_changed_with_its_shares() -> None:
    changed = []

    async def set_nodes(container_id: ContainerId, wanted: tuple[Node, ...], absent: tuple[Node, ...]) -> None:
        changed.append((container_id, wanted, absent))

    isolation = Isolation([Saying(LaunchEdits(view=View(nodes=NODES[:1], absent_nodes=NODES[1:])))])
    isolation.change_nodes_by(set_nodes)
    await isolation.prepare(config())
    assert changed == []

    await isolation.update(config().id, {})

    assert changed == [(config().id, NODES[:1], NODES[1:])]


async def test_nodes_that_cannot_be_made_fail_the_update() -> None:
    async def set_nodes(container_id: ContainerId, wanted: tuple[Node, ...], absent: tuple[Node, ...]) -> None:
        raise IsolationFailed("no")

    isolation = Isolation([Saying(LaunchEdits(view=View(nodes=NODES)))])
    isolation.change_nodes_by(set_nodes)
    await isolation.prepare(config())

    with pytest.raises(IsolationFailed, match="no"):
        await isolation.update(config().id, {})


async def test_what_isolators_say_becomes_one() -> None:
    isolation = Isolation(
        [
            Saying(LaunchEdits(environment={"A": "1", "B": "1"}, overrides={"P": "1"}, view=View(nodes=NODES))),
            Saying(LaunchEdits(environment={"B": "2"}, overrides={"P": "2"})),
        ]
    )

    prepared = await isolation.prepare(config())

    assert prepared.environment == {"A": "1", "B": "2"}
    assert prepared.overrides == {"P": "2"}
    assert prepared.view == View(nodes=NODES)


def test_lists_follow_each_other_and_of_single_things_the_last_counts() -> None:
    proc, data = Mount(source="proc", target="/proc", type="proc"), Mount(source="/data", target="/data")
    few = Capabilities(effective=frozenset(), bounding=frozenset())
    limit = Rlimit(type="RLIMIT_CORE", hard=0, soft=0)
    shell = Command(executable="sh", argv=("sh",))
    one = View(
        environment={"A": "1", "B": "1"}, mounts=(proc,), namespaces=frozenset({Namespace.PID}), command=shell,
        working_directory="/mnt/mesos/sandbox", masked_paths=("/proc/kcore",), gpus=("GPU-0",),
    )  # fmt: skip
    other = View(
        environment={"B": "2"}, mounts=(data,), shared=frozenset({Namespace.IPC}), rlimits=(limit,), capabilities=few,
        no_new_privileges=True, working_directory="/srv", readonly_paths=("/proc/sys",), nodes=NODES,
    )  # fmt: skip

    assert merged([None, one, None, other]) == View(
        environment={"A": "1", "B": "2"}, mounts=(proc, data), namespaces=frozenset({Namespace.PID}), command=shell,
        shared=frozenset({Namespace.IPC}), rlimits=(limit,), capabilities=few, no_new_privileges=True,
        working_directory="/srv", masked_paths=("/proc/kcore",), readonly_paths=("/proc/sys",), nodes=NODES,
        gpus=("GPU-0",),
    )  # fmt: skip
    assert merged([None, None]) is None
