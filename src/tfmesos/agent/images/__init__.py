"""Images of containers: pulled by skopeo, unpacked once by umoci, one root file system for each container."""

from tfmesos.agent.images.errors import BadReference, ImageError
from tfmesos.agent.images.gc_config import parse_image_gc_config
from tfmesos.agent.images.image_root import ImageRoot, ImageRuntime, Root
from tfmesos.agent.images.images import Images
from tfmesos.agent.images.provisioner import Provisioner
from tfmesos.agent.images.reference import Reference
from tfmesos.agent.images.store import StoreUsage

__all__ = [
    "BadReference",
    "ImageError",
    "ImageRoot",
    "ImageRuntime",
    "Images",
    "Provisioner",
    "Reference",
    "Root",
    "StoreUsage",
    "parse_image_gc_config",
]
