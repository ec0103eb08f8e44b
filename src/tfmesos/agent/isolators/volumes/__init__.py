"""Volumes of containers, of Mesos' kinds (Mesos 1.11: isolators/volume/, isolators/filesystem/linux.cpp).

kinds.py         which kind a volume is (pure)
target.py        where in the container a volume goes
tree.py          where a path leads in the tree of an image (links never lead out of it)
host_path.py     volume/host_path
sandbox_path.py  volume/sandbox_path
image.py         volume/image
secret.py        volume/secret
"""

from tfmesos.agent.isolators.volumes.host_path import HostPathIsolator
from tfmesos.agent.isolators.volumes.image import ImageVolumeIsolator
from tfmesos.agent.isolators.volumes.kinds import VolumeKind, host_path_of, kind_of
from tfmesos.agent.isolators.volumes.sandbox_path import SandboxPathIsolator
from tfmesos.agent.isolators.volumes.secret import SecretVolumeIsolator

__all__ = [
    "HostPathIsolator",
    "ImageVolumeIsolator",
    "SandboxPathIsolator",
    "SecretVolumeIsolator",
    "VolumeKind",
    "host_path_of",
    "kind_of",
]
