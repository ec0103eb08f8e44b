"""How containers of the Docker engine get their GPUs: arguments of `docker run`. Pure.

Cards are given by name or by node, never by number: `--gpus 2` would be whichever two the engine likes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfmesos.agent.gpu.errors import GpuError
from tfmesos.agent.gpu.volume.injection import DIRECTORY, VISIBLE, should_inject, volume_environment
from tfmesos.agent.isolators import View

if TYPE_CHECKING:
    from tfmesos.agent.images import ImageRuntime

_KIND = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerGpus:
    """What an engine does for GPUs by itself: NVIDIA's runtime is installed; devices that it knows by CDI, by name."""

    has_nvidia_runtime: bool = False
    cdi_devices: frozenset[str] = frozenset()

    @classmethod
    def from_info(cls, info: Mapping[str, object]) -> DockerGpus:
        """Of the JSON of `docker info` (Docker 28.2 is the first that tells its CDI devices)."""
        runtimes, devices = info.get("Runtimes"), info.get("DiscoveredDevices")
        found = (
            (device.get("ID") for device in devices if isinstance(device, dict)) if isinstance(devices, list) else ()
        )
        return cls(
            has_nvidia_runtime=isinstance(runtimes, dict) and "nvidia" in runtimes,
            cdi_devices=frozenset(name for name in found if isinstance(name, str)),
        )


def docker_gpu_options(
    view: View, engine: DockerGpus, image: ImageRuntime, environment: Mapping[str, str], *, injection: str
) -> tuple[str, ...]:
    """What gives a container the GPUs of its view, and with them the driver's files; comes after its other options.

    `environment`: what the container is told besides; `injection`: as --nvidia_injection says. Raises GpuError.
    """
    named = tuple(f"--device={_KIND}={uuid}" for uuid in view.gpus)
    is_known = {f"{_KIND}={uuid}" for uuid in view.gpus} <= engine.cdi_devices
    if view.gpus and injection == "auto" and engine.has_nvidia_runtime:
        return ("--gpus", f'"device={",".join(view.gpus)}"')  # a field of CSV: the engine would split it at commas
    if view.gpus and injection in ("auto", "cdi") and is_known:
        return (*named, *_void(engine))
    if view.gpus and injection == "cdi":
        raise GpuError(
            f"--nvidia_injection=cdi: the Docker engine knows no CDI device {' or '.join(view.gpus)} of {_KIND}; "
            "`docker info` lists those that it knows"
        )
    volume = () if injection == "none" else _volume(view, image, environment)
    nodes = (f"--device={node.path}:{node.path}:rwm" for node in view.nodes)
    return (*nodes, *volume, *_void(engine))


def _void(engine: DockerGpus) -> tuple[str, ...]:
    """NVIDIA's runtime, where it is the default one, gives all cards to images that ask for all."""
    return (f"--env={VISIBLE}=void",) if engine.has_nvidia_runtime else ()


def _volume(view: View, image: ImageRuntime, environment: Mapping[str, str]) -> Iterator[str]:
    if not should_inject(image.environment, image.labels, has_gpus=bool(view.gpus)):
        return
    mount = next((mount for mount in view.mounts if mount.target == DIRECTORY), None)
    if mount is not None:
        yield f"--volume={mount.source}:{mount.target}:ro"
        own = dict(entry.split("=", 1) for entry in image.environment if "=" in entry)
        yield from (f"--env={name}={value}" for name, value in volume_environment(own, environment).items())
    elif view.gpus:
        raise GpuError(
            "there are no files of the NVIDIA driver for it (the agent's log says why): install NVIDIA's container "
            "toolkit for the Docker engine, or --nvidia_injection=none starts it without"
        )
