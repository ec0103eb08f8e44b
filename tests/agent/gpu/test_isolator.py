"""gpu/nvidia and posix/gpus: what containers get, keep over a restart of the agent, and give back."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.gpu.units import unit
from tests.disks import fill_disk
from tests.gpu_machine import Description, Driver
from tests.gpu_machine.cards import build_cards
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import ContainerConfig, ContainerId, ContainerKind
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.gpu import GpuIsolator, GpuSupply, find_gpus, gpu_isolators
from tfmesos.agent.gpu.cards import DeviceNode
from tfmesos.agent.gpu.injection import Injection
from tfmesos.agent.isolators import IsolationFailed, LaunchEdits, parse_isolation
from tfmesos.cgroups import Device
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

CONTROL = (
    DeviceNode("/dev/nvidiactl", Device("c", 195, 255)),
    DeviceNode("/dev/nvidia-uvm", Device("c", 511, 0)),
)
CONTROL_RULES = ["c 195:255 rwm", "c 511:0 rwm"]
ROOT = ContainerId("root")
A, B = ContainerId("a", ROOT), ContainerId("b", ROOT)


class Cards:
    """An isolator, and the next agent's."""

    def __init__(
        self, tmp_path: Path, control: Collection[DeviceNode] | None = CONTROL, *, patience_s: float = 60.0
    ) -> None:
        """`control`: None for posix/gpus."""
        self._control = control
        self._patience_s = patience_s
        self._path = tmp_path
        self.units = [unit(minor) for minor in range(4)]
        self.isolator = self.next()

    def next(self) -> GpuIsolator:
        supply = GpuSupply(units=tuple(self.units))
        return GpuIsolator(
            supply,
            self.directory_of,
            Injection(self._control or ()),
            is_enforcing=self._control is not None,
            patience_s=self._patience_s,
        )

    def directory_of(self, container_id: ContainerId) -> Path:
        return self._path.joinpath(*(item.value for item in reversed(list(container_id.lineage()))))

    @property
    def free(self) -> list[int]:
        return minors(self.isolator.allocator.free)

    async def prepare(
        self, container_id: ContainerId, kind: ContainerKind = ContainerKind.COMMAND_TASK, **shares: str
    ) -> LaunchEdits:
        wants = parsed(shares)
        own = tuple(wants[""].to_proto()) if "" in wants else ()
        return await self.isolator.prepare(replace(config(container_id, kind), resources=own), wants)

    async def update(self, container_id: ContainerId, **shares: str) -> LaunchEdits:
        return await self.isolator.update(container_id, parsed(shares))

    def told(self, container_id: ContainerId) -> list[int]:
        status = mesos_pb2.ContainerStatus()
        self.isolator.fill_status(container_id, status)
        return [gpu.minor for gpu in status.gpus]


def config(container_id: ContainerId, kind: ContainerKind = ContainerKind.COMMAND_TASK) -> ContainerConfig:
    return ContainerConfig(id=container_id, kind=kind, command=mesos_pb2.CommandInfo(), directory="")


def parsed(shares: dict[str, str]) -> dict[str, Resources]:
    return {"" if name == "own" else name: Resources.parse(text) for name, text in shares.items()}


def minors(units: Collection[object]) -> list[int]:
    return sorted(int(str(one).split(".")[1]) for one in units)


def rules(edits: LaunchEdits) -> list[str]:
    return [str(rule) for rule in edits.devices]


@pytest.fixture
def cards(tmp_path: Path) -> Cards:
    return Cards(tmp_path)


async def test_a_task_gets_the_lowest_cards_their_names_and_the_control_devices(cards: Cards) -> None:
    edits = await cards.prepare(ROOT, own="cpus:1;gpus:2")

    assert rules(edits) == ["c 195:0 rwm", "c 195:1 rwm", *CONTROL_RULES]
    assert edits.environment == {"CUDA_VISIBLE_DEVICES": "GPU-0,GPU-1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert cards.told(ROOT) == [0, 1]
    assert cards.free == [2, 3]


async def test_a_task_without_cards_may_open_the_control_devices_alone(cards: Cards) -> None:
    edits = await cards.prepare(ROOT, own="cpus:1")

    assert rules(edits) == CONTROL_RULES
    assert edits.environment == {}
    assert cards.told(ROOT) == []


async def test_an_executor_grows_and_shrinks_by_its_tasks_cards(cards: Cards) -> None:
    await cards.prepare(ROOT, ContainerKind.EXECUTOR, own="cpus:1", one="gpus:1")

    grown = await cards.update(ROOT, one="gpus:1", two="gpus:1", three="gpus:1")
    assert rules(grown) == ["c 195:0 rwm", "c 195:1 rwm", "c 195:2 rwm", *CONTROL_RULES]
    shrunk = await cards.update(ROOT, one="gpus:1", three="gpus:1")
    assert "c 195:1 rwm" not in rules(shrunk)
    assert [str(rule) for rule in shrunk.withdrawn] == ["c 195:1 rwm"]

    assert cards.free == [3]
    await cards.isolator.settle(ROOT)
    assert cards.free == [1, 3]
    await cards.isolator.cleanup(ROOT)
    await cards.isolator.cleanup(ROOT)
    assert cards.free == [0, 1, 2, 3]


async def test_an_executor_is_not_told_of_its_first_cards_alone_and_its_tasks_containers_are(cards: Cards) -> None:
    edits = await cards.prepare(ROOT, ContainerKind.EXECUTOR, one="gpus:1", two="gpus:1")
    assert "CUDA_VISIBLE_DEVICES" not in edits.environment

    nested = await cards.prepare(B, ContainerKind.NESTED, own="gpus:1")

    assert nested.environment["CUDA_VISIBLE_DEVICES"] == "GPU-0"
    assert rules(nested) == ["c 195:0 rwm", *CONTROL_RULES]
    assert cards.isolator.environment_of(ContainerId("session", B))["CUDA_VISIBLE_DEVICES"] == "GPU-0"
    assert cards.isolator.environment_of(ContainerId("sharing", ROOT))["CUDA_VISIBLE_DEVICES"] == "GPU-0,GPU-1"


@pytest.mark.parametrize(
    ("gpus", "text"), [("gpus:0.5", "must be an unsigned integer"), ("gpus:5", "Requested 5 gpus but only 4 available")]
)
async def test_what_cannot_be_given_fails_the_launch_and_the_growth_and_leaves_nothing(
    cards: Cards, gpus: str, text: str
) -> None:
    with pytest.raises(IsolationFailed, match=text):
        await cards.prepare(ROOT, own=gpus)
    assert cards.free == [0, 1, 2, 3]
    await cards.prepare(ROOT, ContainerKind.EXECUTOR, one="gpus:1")
    with pytest.raises(IsolationFailed):
        await cards.update(ROOT, one="gpus:1", two=gpus)

    assert cards.told(ROOT) == [0]
    assert cards.free == [1, 2, 3]


async def test_cards_of_containers_that_still_end_are_waited_for(cards: Cards) -> None:
    ending, growing = ContainerId("ending"), ContainerId("growing")
    await cards.prepare(ending, ContainerKind.EXECUTOR, one="gpus:2", two="gpus:1")
    await cards.prepare(growing, ContainerKind.EXECUTOR, one="gpus:1")

    launch = asyncio.ensure_future(cards.prepare(ROOT, own="gpus:2"))
    await cards.update(ending, two="gpus:1")
    await asyncio.sleep(0)
    assert not launch.done()
    await cards.isolator.settle(ending)
    await launch
    growth = asyncio.ensure_future(cards.update(growing, one="gpus:1", two="gpus:1"))
    await asyncio.sleep(0)
    assert not growth.done()
    await cards.isolator.cleanup(ending)
    await growth

    assert (cards.told(ROOT), cards.told(growing)) == ([0, 1], [2, 3])


async def test_cards_that_do_not_come_back_fail_the_launch_when_the_patience_is_over(tmp_path: Path) -> None:
    cards = Cards(tmp_path, patience_s=0.01)
    await cards.prepare(ROOT, own="gpus:3")

    with pytest.raises(IsolationFailed, match="Requested 2 gpus but only 1 available"):
        await cards.prepare(ContainerId("other"), own="gpus:2")
    assert cards.free == [3]


async def test_a_record_that_cannot_be_written_fails_the_launch_and_the_growth(cards: Cards, tmp_path: Path) -> None:
    await cards.prepare(ROOT, ContainerKind.EXECUTOR, one="gpus:1")
    other = ContainerId("other")
    cards.directory_of(other).write_text("in the way")
    (cards.directory_of(ROOT) / "gpus.new").mkdir()

    with pytest.raises(IsolationFailed, match="cannot be recorded"):
        await cards.prepare(other, own="gpus:1")
    with pytest.raises(IsolationFailed, match="cannot be recorded"):
        await cards.update(ROOT, two="gpus:2")

    assert cards.told(ROOT) == [0]
    assert cards.free == [1, 2, 3]


@pytest.mark.root
async def test_a_disk_that_is_full_keeps_no_container_from_giving_back(tiny_disk: Path) -> None:
    cards = Cards(tiny_disk)
    await cards.prepare(ROOT, ContainerKind.EXECUTOR, one="gpus:1", two="gpus:2")
    fill_disk(tiny_disk)

    await cards.update(ROOT, one="gpus:1")
    await cards.isolator.settle(ROOT)

    assert cards.told(ROOT) == [0]
    assert cards.free == [1, 2, 3]
    after = cards.next()
    await after.recover({ROOT: config(ROOT, ContainerKind.EXECUTOR)}, set())
    assert minors(after.allocator.allocated) == [0]
    with pytest.raises(IsolationFailed, match="No space left"):
        await cards.prepare(ContainerId("other"), own="gpus:1")
    assert cards.free == [1, 2, 3]


async def test_only_a_prepared_outermost_container_is_updated_and_none_is_prepared_twice(cards: Cards) -> None:
    await cards.prepare(ROOT, own="gpus:1")

    with pytest.raises(IsolationFailed, match="already been prepared"):
        await cards.prepare(ROOT, own="gpus:1")
    with pytest.raises(IsolationFailed, match="Unknown container"):
        await cards.update(ContainerId("other"), own="gpus:1")
    with pytest.raises(IsolationFailed, match="Not supported for nested containers"):
        await cards.update(A, own="gpus:1")


async def test_a_card_that_a_nested_container_has_is_withdrawn_when_that_is_gone(cards: Cards) -> None:
    await cards.prepare(ROOT, ContainerKind.EXECUTOR, one="gpus:1", two="gpus:1")
    await cards.prepare(A, ContainerKind.NESTED, own="gpus:1")

    shrinking = asyncio.ensure_future(cards.update(ROOT, two="gpus:1"))
    await asyncio.sleep(0)
    assert cards.told(ROOT) == [0, 1]
    await cards.isolator.cleanup(A)

    assert [str(rule) for rule in (await shrinking).withdrawn] == ["c 195:0 rwm"]


async def test_the_node_of_a_card_in_mig_mode_stays_open_while_one_of_its_instances_is_held(tmp_path: Path) -> None:
    cards = Cards(tmp_path)
    cards.units = [unit(0, (7, 0)), unit(0, (8, 0))]
    cards.isolator = cards.next()
    await cards.prepare(ROOT, ContainerKind.EXECUTOR, one="gpus:1", two="gpus:1")

    edits = await cards.update(ROOT, two="gpus:1")

    assert rules(edits) == ["c 195:0 rwm", *CONTROL_RULES[:1], "c 236:8 rwm", *CONTROL_RULES[1:]]
    assert [str(rule) for rule in edits.withdrawn] == ["c 236:7 rwm"]


async def test_the_next_agent_knows_who_holds_what_and_what_was_just_taken(cards: Cards) -> None:
    orphan = ContainerId("orphan")
    await cards.prepare(orphan, own="gpus:1")
    await cards.prepare(ROOT, ContainerKind.EXECUTOR, one="gpus:1", two="gpus:2")
    await cards.prepare(A, ContainerKind.NESTED, own="gpus:2")
    await cards.update(ROOT, two="gpus:2")

    cards.isolator = cards.next()
    await cards.isolator.recover({ROOT: config(ROOT), A: config(A)}, {orphan})

    assert cards.free == []
    assert cards.told(A) == cards.told(ROOT) == [2, 3]
    assert [str(rule) for rule in (await cards.update(ROOT, two="gpus:2")).withdrawn] == ["c 195:1 rwm"]
    await cards.isolator.settle(ROOT)
    assert cards.free == [1]
    await cards.isolator.cleanup(orphan)
    assert cards.free == [0, 1]
    for container in (A, ROOT):
        await cards.isolator.cleanup(container)
    assert cards.free == [0, 1, 2, 3]
    assert list(cards.directory_of(ROOT).rglob("gpus*")) == []


async def test_a_nested_container_without_cards_has_none_under_the_next_agent_either(cards: Cards) -> None:
    await cards.prepare(ROOT, ContainerKind.EXECUTOR, one="gpus:1")
    await cards.prepare(A, ContainerKind.NESTED, own="cpus:1")
    await cards.prepare(B, ContainerKind.NESTED, own="gpus:1")
    without = replace(config(A), resources=tuple(Resources.parse("cpus:1").to_proto()))

    cards.isolator = cards.next()
    await cards.isolator.recover({ROOT: config(ROOT), A: without, B: config(B)}, set())

    assert [cards.told(container) for container in (ROOT, A, B)] == [[0], [], [0]]


async def test_records_that_are_broken_do_not_stop_the_next_agent(
    cards: Cards, caplog: pytest.LogCaptureFixture
) -> None:
    await cards.prepare(ROOT, own="gpus:1")
    (cards.directory_of(ROOT) / "gpus").write_text("{")

    cards.isolator = cards.next()
    await cards.isolator.recover({ROOT: config(ROOT)}, set())

    assert cards.told(ROOT) == []
    assert str(cards.directory_of(ROOT)) in caplog.text


async def test_an_agent_without_the_cards_of_a_container_that_goes_on_does_not_start(
    cards: Cards, caplog: pytest.LogCaptureFixture
) -> None:
    await cards.prepare(ROOT, own="gpus:2")
    del cards.units[1]

    cards.isolator = cards.next()
    with pytest.raises(IsolationFailed, match=r"container root .*--nvidia_gpu_devices .*: GPU-1 .*--recover=cleanup"):
        await cards.isolator.recover({ROOT: config(ROOT)}, set())
    await cards.isolator.recover({}, {ROOT})

    assert "GPU-1" in caplog.text


async def test_what_two_records_name_is_the_firsts(cards: Cards, caplog: pytest.LogCaptureFixture) -> None:
    twin = ContainerId("twin")
    await cards.prepare(ROOT, own="gpus:1")
    await cards.prepare(twin, own="gpus:1")
    (cards.directory_of(twin) / "gpus").write_bytes((cards.directory_of(ROOT) / "gpus").read_bytes())

    cards.isolator = cards.next()
    await cards.isolator.recover({ROOT: config(ROOT), twin: config(twin)}, set())

    assert (cards.told(ROOT), cards.told(twin)) == ([0], [])
    assert "twin" in caplog.text


async def test_posix_gpus_names_cards_without_rules_and_says_when_there_are_none(tmp_path: Path) -> None:
    cards = Cards(tmp_path, control=None)

    with_one = await cards.prepare(ROOT, own="gpus:1")
    without = await cards.prepare(ContainerId("cpu"), own="cpus:1")
    executor = await cards.prepare(ContainerId("executor"), ContainerKind.EXECUTOR, own="cpus:1", one="gpus:1")

    assert (with_one.devices, with_one.environment["CUDA_VISIBLE_DEVICES"]) == ((), "GPU-0")
    assert without.environment == {"CUDA_VISIBLE_DEVICES": ""}
    assert executor.environment["CUDA_VISIBLE_DEVICES"] == "GPU-1"


async def test_statistics_and_metrics_tell_what_the_cards_do(
    gpu_driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (card,) = build_cards(1, {})
    (tmp_path / "machine").write_text(Description(cards=(card,)).text())
    monkeypatch.setenv("FAKE_GPU_MACHINE", str(tmp_path / "machine"))
    supply = await find_gpus(
        AgentFlags(master="none", work_dir="/none", isolation="posix/gpus", nvidia_library=str(gpu_driver.nvml))
    )
    isolator = GpuIsolator(supply, lambda container_id: tmp_path / str(container_id), Injection(), is_enforcing=False)
    await isolator.prepare(config(ROOT), parsed({"own": "gpus:1"}))

    await isolator.refresh_usage()

    usage = mesos_pb2.ResourceStatistics()
    isolator.fill_usage(ROOT, usage)
    (gpu,) = usage.gpus
    assert (gpu.uuid, gpu.minor, gpu.memory_used_bytes, gpu.utilization) == (card.uuid, 0, 512 * 2**20, 0.1)
    assert isolator.numbers() == {
        f"slave/gpus/{card.uuid}/held": 1.0,
        f"slave/gpus/{card.uuid}/memory_total_bytes": 40960.0 * 2**20,
        f"slave/gpus/{card.uuid}/memory_used_bytes": 512.0 * 2**20,
        f"slave/gpus/{card.uuid}/utilization": 0.1,
    }
    await isolator.cleanup(ROOT)
    assert isolator.numbers()[f"slave/gpus/{card.uuid}/held"] == 0.0


async def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    flags = AgentFlags(master="none", work_dir="/none", isolation="posix/gpus", nvidia_library="/nowhere/nvml.so")
    supply = await find_gpus(flags)

    with pytest.raises(BadAgentFlags, match=r"posix/gpus.*NVML is not available: .*--nvidia_library=/nowhere/nvml.so"):
        await gpu_isolators(parse_isolation(flags.isolation), supply, lambda container_id: tmp_path, flags)
