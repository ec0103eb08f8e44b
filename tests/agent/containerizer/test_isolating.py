"""What is kept of a container beside its processes goes with it, whichever step of its life fails."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import AsyncIterator, Mapping, Set
from pathlib import Path

import pytest

from tests.agent.containerizer.conftest import Configure, output
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import Container, ContainerConfig, ContainerId, Containerizer, LaunchFailed, Parts
from tfmesos.agent.isolators import Isolation, IsolationFailed, LaunchEdits, Limitation, QuietIsolator, Shares
from tfmesos.supervision import SupervisionError, Supervisors
from tfmesos.wire import mesos_pb2


class Witness(QuietIsolator):
    """Keeps count of what it was told to prepare and to clean up; fails, or waits, at the step that it is told."""

    name = "witness"

    def __init__(self) -> None:
        self.told: list[str] = []
        self.fails_at = ""
        self.waits_at = ""
        self.waiting = asyncio.Event()
        self.held: dict[ContainerId, int | None] = {}

    async def recover(self, known: Mapping[ContainerId, ContainerConfig], orphans: Set[ContainerId]) -> None:
        self.told.append(f"recover {sorted(map(str, known))} {sorted(map(str, orphans))}")
        self.held = dict.fromkeys([*known, *orphans])

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        self.held[config.id] = None
        await self._step("prepare")
        return LaunchEdits(environment={"ADDED": "by isolation", "SAID": "by isolation"})

    async def isolate(self, container_id: ContainerId, pid: int) -> None:
        self.held[container_id] = pid
        await self._step("isolate")

    def fill_status(self, container_id: ContainerId, status: mesos_pb2.ContainerStatus) -> None:
        status.network_infos.add(name="witnessed")

    def fill_usage(self, container_id: ContainerId, usage: mesos_pb2.ResourceStatistics) -> None:
        usage.mem_limit_bytes = 7

    async def cleanup(self, container_id: ContainerId) -> None:
        pid = self.held.pop(container_id, None)
        assert pid is None or not _has_children(pid)

    async def _step(self, step: str) -> None:
        self.told.append(step)
        if self.fails_at == step:
            raise IsolationFailed(f"cannot {step}")
        if self.waits_at == step:
            self.waiting.set()
            await asyncio.get_running_loop().create_future()


def _has_children(pid: int) -> bool:
    """The supervisor itself may not have exited yet."""
    try:
        return bool(Path(f"/proc/{pid}/task/{pid}/children").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def witness() -> Witness:
    return Witness()


@pytest.fixture
async def containerizer(flags: AgentFlags, witness: Witness) -> AsyncIterator[Containerizer]:
    running = Containerizer(flags, Supervisors(), Parts(isolation=Isolation([witness])))
    await running.start()
    yield running
    await running.close(end_detached=True)
    assert witness.held == {}


async def _run(containerizer: Containerizer, config: ContainerConfig) -> Container:
    container = await containerizer.launch(config)
    await container.open_gate()
    return container


def _nothing_is_left(containerizer: Containerizer, witness: Witness) -> bool:
    kept = [path for path in containerizer.runtime_dir.glob("containers/**/*") if not path.is_dir()]
    return not list(containerizer.containers()) and not witness.held and not kept


def _gpus(amount: float) -> mesos_pb2.Resource:
    return mesos_pb2.Resource(name="gpus", type=mesos_pb2.Value.SCALAR, scalar=mesos_pb2.Value.Scalar(value=amount))


async def test_it_is_prepared_and_isolated_before_it_runs_and_cleaned_up_before_its_end_is_told(
    containerizer: Containerizer, configure: Configure, witness: Witness
) -> None:
    container = await containerizer.launch(configure("exit 3"))
    assert witness.told == ["prepare", "isolate"]
    assert witness.held == {container.id: container.pid}

    await container.open_gate()
    termination = await container.wait()

    assert termination.wait_status == 3 << 8
    assert witness.held == {}


async def test_what_it_adds_to_the_environment_is_beneath_what_the_command_says(
    containerizer: Containerizer, configure: Configure
) -> None:
    config = configure("echo $ADDED, $SAID")
    config.command.environment.variables.add(name="SAID", value="by the command")

    container = await _run(containerizer, dataclasses.replace(config, environment={"ADDED": "by the agent"}))
    await container.wait()

    assert output(container) == "by isolation, by the command\n"


async def test_a_debug_container_has_it_from_the_one_it_looks_into(
    containerizer: Containerizer, configure: Configure
) -> None:
    parent = await _run(containerizer, configure("sleep 60"))

    config = configure("echo $ADDED", name="debug", parent=parent.id, is_debug=True)
    debug = await _run(containerizer, config)
    await debug.wait()

    assert output(debug) == "by isolation\n"


async def test_status_and_statistics_tell_what_it_says(containerizer: Containerizer, configure: Configure) -> None:
    container = await _run(containerizer, configure("sleep 60"))

    assert [info.name for info in container.status().network_infos] == ["witnessed"]
    assert container.statistics().mem_limit_bytes == 7


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("step", ["prepare", "isolate"])
async def test_a_step_that_fails_leaves_nothing(
    containerizer: Containerizer, configure: Configure, witness: Witness, step: str, is_recorded: bool
) -> None:
    witness.fails_at = step

    with pytest.raises(LaunchFailed, match=f"cannot {step}"):
        await containerizer.launch(configure("touch ran", checkpoint=is_recorded))

    await containerizer.close()
    assert _nothing_is_left(containerizer, witness)


@pytest.mark.parametrize("step", ["prepare", "isolate"])
async def test_a_launch_that_is_ended_at_a_step_leaves_nothing(
    containerizer: Containerizer, configure: Configure, witness: Witness, step: str
) -> None:
    witness.waits_at = step
    launch = asyncio.create_task(containerizer.launch(configure("touch ran", checkpoint=True)))
    await witness.waiting.wait()

    assert containerizer.abort(ContainerId("c"))

    with pytest.raises(LaunchFailed, match="destroyed"):
        await launch
    await containerizer.close()
    assert _nothing_is_left(containerizer, witness)


async def test_closing_ends_launches_with_all_that_they_have_begun(
    containerizer: Containerizer, configure: Configure, witness: Witness
) -> None:
    witness.waits_at = "isolate"
    launch = asyncio.create_task(containerizer.launch(configure("touch ran", checkpoint=True)))
    await witness.waiting.wait()
    launch.cancel()  # by whoever asked, and by the end of the agent
    await containerizer.close()

    await asyncio.wait([launch])
    assert _nothing_is_left(containerizer, witness)


async def test_a_program_that_cannot_be_forked_leaves_nothing(
    containerizer: Containerizer, configure: Configure, witness: Witness
) -> None:
    config = configure("true", environment={"A=B": "no name of a variable"})

    with pytest.raises(LaunchFailed, match="environment name") as failure:
        await containerizer.launch(config)

    assert isinstance(failure.value.__cause__, SupervisionError)
    assert _nothing_is_left(containerizer, witness)


async def test_a_download_that_fails_leaves_nothing(
    containerizer: Containerizer, configure: Configure, witness: Witness
) -> None:
    config = configure("true")
    config.command.uris.add(value="/no/such/file")

    with pytest.raises(LaunchFailed, match="Failed to fetch"):
        await containerizer.launch(config)

    assert witness.told == ["prepare"]
    assert _nothing_is_left(containerizer, witness)


async def test_a_limit_that_it_passes_ends_it_and_is_remembered(
    containerizer: Containerizer, configure: Configure, witness: Witness
) -> None:
    limitation = Limitation(reason=mesos_pb2.TaskStatus.REASON_CONTAINER_LIMITATION_MEMORY, message="too much")
    container = await containerizer.launch(configure("sleep 60"))

    container.exceed(limitation)
    container.exceed(dataclasses.replace(limitation, message="again"))

    assert (await container.wait()).killed
    assert container.limitation == limitation


async def test_what_holds_gpus_has_a_record_until_it_is_forgotten_although_it_does_not_outlive_the_agent(
    containerizer: Containerizer, configure: Configure
) -> None:
    container = await _run(containerizer, configure("true", resources=(_gpus(1),)))
    path = containerizer.runtime_dir / "containers" / "c"
    await container.wait()
    assert os.listdir(path) == ["record.json"]

    containerizer.forget(container.id)
    await containerizer.close()

    assert not path.exists()


async def test_the_next_agent_keeps_what_is_known_and_cleans_up_what_is_not_before_it_goes_on(
    flags: AgentFlags, configure: Configure
) -> None:
    # given a containerizer that ends as an agent does, with containers that go on
    first = Containerizer(flags, Supervisors(), Parts(isolation=Isolation([Witness()])))
    await first.start()
    kept = await _run(first, configure("sleep 60", checkpoint=True))
    nested = await _run(first, configure("sleep 60", name="nested", parent=kept.id))
    gated = await first.launch(configure("sleep 60", name="gated", parent=kept.id))
    await _run(first, configure("sleep 60", name="orphan", checkpoint=True))
    await first.close()
    # when the next one recovers one of them
    witness = Witness()
    second = Containerizer(flags, Supervisors(), Parts(isolation=Isolation([witness])))
    await second.start()
    found = await second.recover([kept.id])
    # then it knows which are kept, and the others are gone already
    assert witness.told == [f"recover {[str(kept.id), str(nested.id)]} {[str(gated.id), 'orphan']}"]
    assert set(found) == set(witness.held) == {kept.id, nested.id}
    assert second.find(ContainerId("orphan")) is None
    await second.close(end_detached=True)
    assert witness.held == {}
