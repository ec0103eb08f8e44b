"""Images of containers: pulled by skopeo, unpacked once by umoci, one root file system for each container."""

from tfmesos.agent.images.errors import ImageError
from tfmesos.agent.images.gc_config import parse_image_gc_config
from tfmesos.agent.images.image_root import ImageRoot, ImageRuntime, Root
from tfmesos.agent.images.images import Images, ImagesUsage
from tfmesos.agent.images.provisioner import Provisioner

__all__ = [
    "ImageError",
    "ImageRoot",
    "ImageRuntime",
    "Images",
    "ImagesUsage",
    "Provisioner",
    "Root",
    "parse_image_gc_config",
]
