"""What a container that does not see the machine's files gets of the driver: nodes, and the driver's own files.

Nodes: the control nodes, and those of the units in its reach, never others. Files, if its image asks for them, or if it
has units and does not ask for none: as CDI specifications say, or the driver volume.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tfmesos.agent.containerizer.config import ContainerConfig, ContainerKind, RuntimeName
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.gpu.cards import DeviceNode, Unit
from tfmesos.agent.gpu.cdi import EditedNode, Edits, NoSpecification, SpecificationFiles, edits_for, is_card
from tfmesos.agent.gpu.discovery import GpuSupply
from tfmesos.agent.gpu.errors import GpuError
from tfmesos.agent.gpu.volume import DIRECTORY, DriverVolume, should_inject, volume_environment
from tfmesos.agent.isolators import Mount, Node, View
from tfmesos.cgroups import BadDeviceRule, Device, DeviceRule

_VOLUME_OPTIONS = ("rbind", "ro", "nosuid", "nodev")
_MODE = 0o666
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """What a container gets. `rules`: what of it opens; `overrides`: variables in place of its own."""

    view: View
    rules: tuple[DeviceRule, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)


def has_own_devices(config: ContainerConfig) -> bool:
    """Whether a container has a /dev of its own; also of one whose root is not known any more."""
    if config.runtime is RuntimeName.DOCKER:
        return True
    return config.container is not None and config.container.mesos.HasField("image")


def driver_volume(flags: AgentFlags, supply: GpuSupply) -> DriverVolume | None:
    """The volume that an agent with these flags may want; nobody but root can make one."""
    if supply.machine is None or flags.nvidia_injection not in ("auto", "volume") or os.geteuid() != 0:
        return None
    directory = supply.volume_directory or Path(flags.work_dir).absolute() / "gpu"
    return DriverVolume(directory, supply.machine.driver_version)


class Injection:
    """As --nvidia_injection says."""

    def __init__(
        self,
        control: Collection[DeviceNode] = (),
        *,
        mode: str = "none",
        volume: DriverVolume | None = None,
        root: Path = Path("/"),
    ) -> None:
        """`volume`: None if there can be none. `root`: where the machine's files are."""
        self._control = tuple(control)
        self._mode = mode
        self._volume = volume
        self._root = root
        self._specifications = SpecificationFiles(root)
        self._complaints: set[str] = set()

    async def inject(self, config: ContainerConfig, units: Collection[Unit]) -> Injected:
        """For a new container with these units in its reach. Raises GpuError."""
        if config.runtime is RuntimeName.DOCKER:
            return self._with(self._own_nodes(units), units, mounts=await self._mounts_of_engine(units))
        if self._mode == "none" or not _wants_files(config, units):
            return self._with(self._own_nodes(units), units)
        if self._mode in ("auto", "cdi"):
            try:
                return self._by_cdi(units)
            except GpuError as error:
                if self._mode == "cdi":
                    raise GpuError(f"--nvidia_injection=cdi: {error}; nvidia-ctk cdi generate writes one") from error
                self._complain(error)
        return await self._by_volume(config, units)

    def nodes(self, units: Collection[Unit]) -> Injected:
        """For any container, if these units are in its reach: nodes alone."""
        if units and self._mode in ("auto", "cdi"):
            try:
                return self._with(self._cdi_nodes(self._edits(units), units), units)
            except GpuError as error:
                self._complain(error)
        return self._with(self._own_nodes(units), units)

    def _complain(self, error: GpuError) -> None:
        """Once of each fault; that there is no specification is none."""
        if not isinstance(error, NoSpecification) and str(error) not in self._complaints:
            self._complaints.add(str(error))
            _log.warning("containers do without CDI: %s", error)

    def _own_nodes(self, units: Iterable[Unit]) -> dict[Node, str]:
        """The control nodes and those of these units, and what may be done with each."""
        nodes = [*self._control, *(node for unit in sorted(units) for node in unit.nodes)]
        return {_node(node.path, node.device): "rwm" for node in nodes}

    def _with(
        self,
        nodes: Mapping[Node, str],
        units: Collection[Unit],
        *,
        mounts: tuple[Mount, ...] = (),
        overrides: Mapping[str, str] | None = None,
        edits: Edits | None = None,
    ) -> Injected:
        edits = edits or Edits()
        view = View(
            nodes=tuple(nodes),
            gpus=tuple(unit.uuid for unit in sorted(units)),
            mounts=mounts or edits.mounts,
            hooks=edits.hooks,
        )
        rules = tuple(DeviceRule(_device(node), access) for node, access in nodes.items())
        return Injected(view=view, rules=rules, overrides=overrides or _variables(edits.environment))

    async def _by_volume(self, config: ContainerConfig, units: Collection[Unit]) -> Injected:
        nodes = self._own_nodes(units)
        try:
            mount = await self._mount()
        except GpuError as error:
            if units:
                raise GpuError(f"{error}; --nvidia_injection=none starts it without the driver's files") from error
            _log.warning("container %s lacks the NVIDIA driver's programs and libraries: %s", config.id, error)
            return self._with(nodes, units)
        assert config.root is not None  # who wants files has an image
        image = _variables(config.root.image.runtime.environment)
        overrides = volume_environment(image, {**config.environment, **_told(config)})
        return self._with(nodes, units, mounts=(mount,), overrides=overrides)

    def _by_cdi(self, units: Collection[Unit]) -> Injected:
        edits = self._edits(units)
        for path in [mount.source for mount in edits.mounts] + [hook.path for hook in edits.hooks]:
            if not self._root.joinpath(path.lstrip("/")).exists():
                raise GpuError(f"the CDI specification names {path}, which is not there: it is of another driver")
        return self._with(self._cdi_nodes(edits, units), units, edits=edits)

    def _edits(self, units: Collection[Unit]) -> Edits:
        return edits_for(units, self._specifications.read())

    def _cdi_nodes(self, edits: Edits, units: Collection[Unit]) -> dict[Node, str]:
        """Beside the usual nodes, which are there whatever is edited, those that are edited."""
        nodes = self._own_nodes(units)
        usual = {_device(node) for node in nodes}
        for edited in edits.nodes if units else ():
            device = self._edited_device(edited)
            if device not in usual and not is_card(edited):
                mode = _MODE if edited.mode is None else edited.mode
                nodes[_node(edited.path, device, mode, edited.uid, edited.gid)] = edited.permissions
        return nodes

    def _edited_device(self, node: EditedNode) -> Device:
        try:
            if node.type in ("b", "c", "u") and node.major is not None and node.minor is not None:
                return Device("b" if node.type == "b" else "c", node.major, node.minor)
            return Device.of_node(self._root / node.host_path.lstrip("/"))
        except (OSError, BadDeviceRule) as error:
            raise GpuError(f"the CDI specification names {node.host_path}, which is no device: {error}") from error

    async def _mounts_of_engine(self, units: Collection[Unit]) -> tuple[Mount, ...]:
        """Whether the volume is wanted says the image, which the engine knows; it may have files of its own."""
        if self._mode not in ("auto", "volume"):
            return ()
        try:
            return (await self._mount(),)
        except GpuError as error:
            if units:
                _log.warning("the Docker engine gets no volume of the NVIDIA driver: %s", error)
            return ()

    async def _mount(self) -> Mount:
        if self._volume is None:
            raise GpuError("the volume of the NVIDIA driver needs an agent that is root")
        return Mount(source=str(await self._volume.provide()), target=DIRECTORY, options=_VOLUME_OPTIONS)


def _wants_files(config: ContainerConfig, units: Collection[Unit]) -> bool:
    """What the task says of NVIDIA_VISIBLE_DEVICES counts before what its image says.

    An executor of one's own may get units when its files do not change any more.
    """
    if config.root is None:
        return False
    image = config.root.image.runtime
    told = [f"{name}={value}" for name, value in _told(config).items()]
    has_gpus = bool(units) or config.kind is ContainerKind.EXECUTOR
    return should_inject([*told, *image.environment], image.labels, has_gpus=has_gpus)


def _told(config: ContainerConfig) -> dict[str, str]:
    return {variable.name: variable.value for variable in config.command.environment.variables}


def _variables(entries: Iterable[str]) -> dict[str, str]:
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def _node(path: str, device: Device, mode: int = _MODE, uid: int = 0, gid: int = 0) -> Node:
    assert device.major is not None
    assert device.minor is not None
    return Node(path=path, type=device.type, major=device.major, minor=device.minor, mode=mode, uid=uid, gid=gid)


def _device(node: Node) -> Device:
    return Device("b" if node.type == "b" else "c", node.major, node.minor)
