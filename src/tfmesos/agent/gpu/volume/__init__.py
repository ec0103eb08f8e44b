"""The NVIDIA driver's programs and libraries, for containers whose image has none of its own."""

from tfmesos.agent.gpu.volume.driver_volume import build_driver_volume

__all__ = ["build_driver_volume"]
