"""gpu/nvidia and posix/gpus: gives containers their GPUs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import replace
from functools import partial
from pathlib import Path

from tfmesos.agent.containerizer.config import ContainerConfig, ContainerKind, RuntimeName
from tfmesos.agent.containerizer.identifiers import ContainerId
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.gpu.allocator import Allocator
from tfmesos.agent.gpu.book import Book, Holding
from tfmesos.agent.gpu.cards import Unit
from tfmesos.agent.gpu.discovery import GpuSupply
from tfmesos.agent.gpu.errors import GpuError, NotAvailable, StillClaimed, TooFewGpus, UnknownGpus
from tfmesos.agent.gpu.injection import Injection, driver_volume, has_own_devices
from tfmesos.agent.gpu.nodes import control_nodes, present_control_nodes
from tfmesos.agent.gpu.record import read_record, write_record
from tfmesos.agent.gpu.sampler import Sampler
from tfmesos.agent.isolators import IsolationFailed, IsolatorNames, LaunchEdits, Node, QuietIsolator, Shares, View
from tfmesos.agent.isolators.container_cgroups import Own, own_of
from tfmesos.agent.isolators.table import GPU_NVIDIA, GPU_POSIX
from tfmesos.cgroups import DeviceRule
from tfmesos.wire import mesos_pb2

_THOUSANDTHS = 1000
_PATIENCE_S = 60.0  # executors have 5 s to shut down, unless they are told otherwise
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}  # as nvidia-smi and NVML count, not the fastest first
_log = logging.getLogger(__name__)


class GpuIsolator(QuietIsolator):
    """Each container has its own GPUs, named in CUDA_VISIBLE_DEVICES; gpu/nvidia lets it open no others.

    A container's GPUs are those of its executor and of its tasks. What a nested container asks for is out of those of
    the container around it, apart from those of its siblings. A GPU that is taken from a container is free when the
    container cannot open it any more and does not hold it open; the others of an ended container, when nothing of it is
    left.
    """

    serves_all = True
    serves_docker = True

    def __init__(
        self,
        supply: GpuSupply,
        directory_of: Callable[[ContainerId], Path],
        injection: Injection,
        *,
        is_enforcing: bool = True,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        """`directory_of`: where what is kept of a container is. `is_enforcing`: whether it is gpu/nvidia.

        `patience_s`: how long cards may take to come back that the master has counted as free already.
        """
        self.name = GPU_NVIDIA if is_enforcing else GPU_POSIX
        self.allocator = Allocator(supply.units)
        self._book = Book(self.allocator)
        self.sampler = Sampler(supply.units, supply.nvml, supply.thread)
        self._directory_of = directory_of
        self._injection = injection
        self._is_enforcing = is_enforcing
        self._patience_s = patience_s
        self._freed = asyncio.Event()
        self._with_devices: dict[ContainerId, ContainerConfig] = {}
        """Those that have a /dev of their own."""

    async def recover(self, known: Mapping[ContainerId, ContainerConfig], orphans: Set[ContainerId]) -> None:
        """What containers hold, orphans, too, is theirs until their cleanup.

        Raises IsolationFailed for one that goes on with GPUs that this agent does not have.
        """
        for container_id in sorted([*known, *orphans], key=_depth):
            config = known.get(container_id)
            if config is not None and has_own_devices(config):
                self._with_devices[container_id] = config
            holding = self._recorded(container_id, is_orphan=config is None)
            if holding is None and (config is None or own_of(config) is Own.END):
                continue  # it shares what is around it
            try:
                self._book.restore(container_id, holding or Holding())
            except NotAvailable as error:
                _log.error("container %s is to hold GPUs that another one holds: %s", container_id, error)
                self._book.restore(container_id, Holding())

    async def prepare(self, config: ContainerConfig, shares: Shares) -> LaunchEdits:
        """Allocate, or claim, the GPUs of a container; what shares all has those around it. Raises IsolationFailed."""
        if config.id in self._book:
            raise IsolationFailed("Container has already been prepared")
        if own_of(config) is not Own.END:
            await self._when_free(config.id, partial(self._admit, config.id, _wants(shares)))
        units = self._book.units_for(config.id)
        rules = () if config.runtime is RuntimeName.DOCKER else self._rules(units)  # the engine sees to them
        edits = LaunchEdits(environment=self._environment(config), devices=rules)
        if not has_own_devices(config):
            return edits
        self._with_devices[config.id] = config
        try:
            injected = await self._injection.inject(config, units)
        except GpuError as error:
            raise IsolationFailed(str(error)) from error
        return replace(edits, overrides=injected.overrides, view=injected.view)

    async def update(self, container_id: ContainerId, shares: Shares) -> LaunchEdits:
        """Allocate what is more, and withdraw what is less: GPUs of the tasks that have ended. Raises IsolationFailed.

        While a nested container has what is to go, this waits until that is gone.
        """
        if container_id.parent is not None:
            raise IsolationFailed("Not supported for nested containers")
        if container_id not in self._book:
            raise IsolationFailed("Unknown container")
        wants, config = _wants(shares), self._with_devices.get(container_id)
        if config is not None and config.runtime is RuntimeName.DOCKER:
            self._check_kept(container_id, wants)
            return LaunchEdits()
        await self._when_free(container_id, partial(self._resize, container_id, wants))
        holding = self._book.holding(container_id)
        devices = self._rules(holding.units)
        kept = {rule.device for rule in devices}
        withdrawn = tuple(rule for rule in self._rules(holding.leaving) if rule.device not in kept)
        edits = LaunchEdits(devices=devices, withdrawn=withdrawn)
        return edits if config is None else replace(edits, view=self._changed_view(holding.units))

    async def settle(self, container_id: ContainerId) -> None:
        """What was withdrawn is free; the next agent must not find it with two containers."""
        holding = self._book.holding(container_id)
        if not holding.leaving:
            return
        try:
            write_record(self._directory_of(container_id), replace(holding, leaving=frozenset()))
        except OSError as error:
            _log.error("container %s keeps what it gave back: %s", container_id, error.strerror)
        else:
            self._book.settle(container_id)
            self._tell_freed()

    def environment_of(self, container_id: ContainerId) -> Mapping[str, str]:
        """The names of the cards of the container around it."""
        return _named(self._book.units_for(container_id))

    def fill_status(self, container_id: ContainerId, status: mesos_pb2.ContainerStatus) -> None:
        """The GPUs in reach of the container."""
        for unit in sorted(self._book.units_for(container_id)):
            status.gpus.add(uuid=unit.uuid, minor=unit.minor, name=unit.name, memory_mb=unit.memory_mb)

    async def refresh_usage(self) -> None:
        """Ask NVML, which may take a while."""
        await self.sampler.refresh()

    def fill_usage(self, container_id: ContainerId, usage: mesos_pb2.ResourceStatistics) -> None:
        """What the GPUs in reach of the container do, as last sampled."""
        for unit in sorted(self._book.units_for(container_id)):
            told = usage.gpus.add(uuid=unit.uuid, minor=unit.minor)
            sample = self.sampler.last(unit)
            if sample is not None:
                told.memory_total_bytes = sample.memory_total_bytes
                told.memory_used_bytes = sample.memory_used_bytes
                if sample.utilization is not None:
                    told.utilization = sample.utilization

    def numbers(self) -> Mapping[str, float]:
        """Metrics of each GPU, by its UUID: whether it is held, and what it does, as last sampled."""
        numbers: dict[str, float] = {}
        for unit in sorted(self.allocator.total):
            name, sample = f"slave/gpus/{unit.uuid}", self.sampler.last(unit)
            numbers[f"{name}/held"] = float(unit not in self.allocator.free)
            if sample is not None:
                numbers[f"{name}/memory_total_bytes"] = float(sample.memory_total_bytes)
                numbers[f"{name}/memory_used_bytes"] = float(sample.memory_used_bytes)
                if sample.utilization is not None:
                    numbers[f"{name}/utilization"] = sample.utilization
        return numbers

    async def cleanup(self, container_id: ContainerId) -> None:
        """What the container held is free."""
        self._with_devices.pop(container_id, None)
        if container_id not in self._book:
            return
        self._forget(container_id)
        self._tell_freed()

    def _admit(self, container_id: ContainerId, wants: Mapping[str, int]) -> None:
        self._book.admit(container_id, wants)
        try:
            self._keep(container_id)
        except OSError:
            self._forget(container_id)
            raise

    def _resize(self, container_id: ContainerId, wants: Mapping[str, int]) -> None:
        before = self._book.holding(container_id)
        self._book.resize(container_id, wants)
        if self._book.holding(container_id) != before:
            try:
                self._keep(container_id)
            except OSError:
                self._book.revert(container_id, before)
                raise

    async def _when_free(self, container_id: ContainerId, take: Callable[[], None]) -> None:
        """Take as soon as there is enough. Raises IsolationFailed if there never will be, or when the patience is over.

        A master counts the cards of a framework as free when that is torn down, while its containers still end.
        """
        deadline = asyncio.get_running_loop().time() + self._patience_s
        while True:
            freed = self._freed
            try:
                return take()
            except StillClaimed as error:
                _log.info("container %s: waiting for the end of nested containers: %s", container_id, error)
                await freed.wait()
            except TooFewGpus as error:
                if error.wanted > error.total or not await _is_set(freed, deadline):
                    raise IsolationFailed(str(error)) from error
            except OSError as error:
                raise IsolationFailed(f"its GPUs cannot be recorded: {error.strerror}") from error

    def _tell_freed(self) -> None:
        self._freed.set()
        self._freed = asyncio.Event()

    def _keep(self, container_id: ContainerId) -> None:
        """Write down what it holds, and what is claimed of the one around it. Raises OSError."""
        write_record(self._directory_of(container_id), self._book.holding(container_id))
        outer = self._book.outer(container_id)
        if outer is not None and self._book.holding(container_id).units:
            write_record(self._directory_of(outer), self._book.holding(outer))

    def _recorded(self, container_id: ContainerId, *, is_orphan: bool) -> Holding | None:
        try:
            return read_record(self._directory_of(container_id), {unit.uuid: unit for unit in self.allocator.total})
        except UnknownGpus as error:
            if is_orphan:
                _log.warning("container %s, which is ended: %s", container_id, error)
                return None
            raise IsolationFailed(
                f"container {container_id} holds GPUs that are gone or that --nvidia_gpu_devices does not name: "
                f"{error}; start the agent with its old flags, or end its tasks by --recover=cleanup"
            ) from error

    def _forget(self, container_id: ContainerId) -> None:
        self._book.dismiss(container_id)
        try:
            write_record(self._directory_of(container_id), Holding())
        except OSError as error:  # the directory goes, too
            _log.warning("container %s: its record of GPUs cannot be removed: %s", container_id, error.strerror)

    def _environment(self, config: ContainerConfig) -> Mapping[str, str]:
        """An enforced executor is told nothing: it sees what it may open, and that may grow, which no variable does."""
        units = self._book.units_for(config.id)
        if config.kind is ContainerKind.EXECUTOR and self._is_enforcing:
            return _ORDER
        if not units and not self._is_enforcing and config.kind is not ContainerKind.EXECUTOR:
            return {_VISIBLE: ""}  # nothing else keeps it from what is not its own
        return _named(units)

    def _rules(self, units: Collection[Unit]) -> tuple[DeviceRule, ...]:
        return tuple(sorted(self._injection.nodes(units).rules, key=str)) if self._is_enforcing else ()

    def _changed_view(self, units: Collection[Unit]) -> View:
        """Of a container that runs."""
        there = self._injection.nodes(units).view
        everywhere = self._injection.nodes(self.allocator.total).view
        return View(nodes=there.nodes, gpus=there.gpus, absent_nodes=_without(everywhere.nodes, there.nodes))

    def _check_kept(self, container_id: ContainerId, wants: Mapping[str, int]) -> None:
        """The engine cannot change the devices of a container that runs: it keeps what it was made with to its end.

        Raises IsolationFailed if that is too little.
        """
        units = self._book.holding(container_id).units
        if sum(wants.values()) > len(units):
            raise IsolationFailed(f"a Docker container that runs can be given no more GPUs than its {len(units)}")


async def gpu_isolators(
    names: IsolatorNames,
    supply: GpuSupply,
    directory_of: Callable[[ContainerId], Path],
    flags: AgentFlags,
    root: Path = Path("/"),
) -> list[GpuIsolator]:
    """The isolators of GPUs among these names, one or none. Raises BadAgentFlags: the text names what is missing."""
    name = next((name for name in (GPU_NVIDIA, GPU_POSIX) if name in names), None)
    if name is None:
        return []
    try:
        if supply.nvml is None:
            why = supply.missing or "NVML is not available"
            raise GpuError(f"Cannot create the Nvidia GPU isolator: {why}; install NVIDIA's driver")
        control = await control_nodes(root) if name == GPU_NVIDIA else present_control_nodes(root)
    except GpuError as error:
        raise BadAgentFlags(f"Failed to create isolator '{name}': {error}") from error
    injection = Injection(control, mode=flags.nvidia_injection, volume=driver_volume(flags, supply), root=root)
    return [GpuIsolator(supply, directory_of, injection, is_enforcing=name == GPU_NVIDIA)]


def _wants(shares: Shares) -> dict[str, int]:
    """How many GPUs each share has. Raises IsolationFailed for parts of GPUs."""
    amounts = {name: resources.scalar("gpus") for name, resources in shares.items()}
    if any(amount % _THOUSANDTHS for amount in amounts.values()):
        raise IsolationFailed("The 'gpus' resource must be an unsigned integer")
    return {name: amount // _THOUSANDTHS for name, amount in amounts.items()}


def _named(units: Iterable[Unit]) -> Mapping[str, str]:
    """UUIDs mean the same in a container that sees all nodes and in one that sees only its own."""
    named = ",".join(unit.uuid for unit in sorted(units))
    return {_VISIBLE: named, **_ORDER} if named else {}


def _without(nodes: Iterable[Node], others: Collection[Node]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if node not in others)


def _depth(container_id: ContainerId) -> int:
    return sum(1 for _ in container_id.lineage())


async def _is_set(event: asyncio.Event, deadline: float) -> bool:
    """Whether it is before the deadline; waits for it."""
    try:
        async with asyncio.timeout_at(deadline):
            return await event.wait()
    except TimeoutError:
        return False
