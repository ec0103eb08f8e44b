"""CDI: how the machine's administrator wants containers to get GPUs (cncf-tags/container-device-interface: SPEC.md).

A specification says for each device which nodes, mounts, variables and hooks a container gets; NVIDIA's container
toolkit writes one by `nvidia-ctk cdi generate`.

specification.py  one of them (pure)
devices.py        which of its devices a unit is, and what that brings (pure)
directories.py    reads them from /etc/cdi and /var/run/cdi
"""

from tfmesos.agent.gpu.cdi.devices import NoSpecification, edits_for, is_card
from tfmesos.agent.gpu.cdi.directories import SpecificationFiles
from tfmesos.agent.gpu.cdi.specification import BadSpecification, CdiDevice, EditedNode, Edits, Specification, parse

__all__ = [
    "BadSpecification",
    "CdiDevice",
    "EditedNode",
    "Edits",
    "NoSpecification",
    "Specification",
    "SpecificationFiles",
    "edits_for",
    "is_card",
    "parse",
]
