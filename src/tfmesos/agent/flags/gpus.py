"""Flags of GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from tfmesos.agent.flags.values import one_of, parse_count
from tfmesos.flags import flag


def _parse_gpu_devices(text: str) -> tuple[int, ...]:
    return tuple(parse_count(part.strip()) for part in text.split(","))


@dataclass(frozen=True, kw_only=True)
class GpuFlags:
    """A part of AgentFlags."""

    __slots__ = ()

    nvidia_gpu_devices: tuple[int, ...] | None = flag(
        default=None,
        parse=_parse_gpu_devices,
        show=lambda devices: ",".join(map(str, devices)),
        help="which GPUs to offer, by NVML's index: 0,1; wants gpus in --resources, and gpu/nvidia or posix/gpus in "
        "--isolation",
    )
    nvidia_library: str = flag(
        default="libnvidia-ml.so.1",
        aliases=("nvidia_lib",),
        help="NVIDIA's management library, by name or path (MESOS_NVIDIA_LIB, too)",
    )
    nvidia_injection: str = flag(
        default="auto",
        parse=one_of("auto", "cdi", "volume", "none"),
        help="how containers with an image get the NVIDIA driver's files: cdi (as CDI specifications in /etc/cdi and "
        "/var/run/cdi say), volume (the agent's own directory of them at /usr/local/nvidia), auto (cdi where there is "
        "a specification for their GPUs, else volume) or none",
    )
