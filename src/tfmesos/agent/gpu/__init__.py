"""NVIDIA's GPUs: what there is, what is offered, and which container has which. (There is nothing for AMD's.)

cards.py        what there is: cards, and units, which are what is allocated
nvml.py         NVIDIA's management library; nvml_thread.py: where it is called
nodes.py        device nodes beside the cards' own: for control, for instances of cards in MIG mode
enumeration.py  what the flags offer (pure)
discovery.py    what there is and what of it is offered
allocator.py    which units are free (pure)
book.py         who holds which (pure)
record.py       the same for the next agent
sampler.py      what the units do
isolator.py     gpu/nvidia and posix/gpus
injection.py    what containers with a /dev of their own get of the driver
engine.py       GPUs of containers of the Docker engine (pure)
volume          the driver's files for images; cdi: what the machine's administrator says of them
errors.py       what goes wrong
"""

from tfmesos.agent.gpu.allocator import Allocator
from tfmesos.agent.gpu.cards import Card, MigInstance, Unit
from tfmesos.agent.gpu.discovery import GpuSupply, Machine, discover, find_gpus
from tfmesos.agent.gpu.engine import DockerGpus, docker_gpu_options
from tfmesos.agent.gpu.errors import GpuError, NvmlFailed, NvmlMissing
from tfmesos.agent.gpu.injection import driver_volume
from tfmesos.agent.gpu.isolator import GpuIsolator, gpu_isolators

__all__ = [
    "Allocator",
    "Card",
    "DockerGpus",
    "GpuError",
    "GpuIsolator",
    "GpuSupply",
    "Machine",
    "MigInstance",
    "NvmlFailed",
    "NvmlMissing",
    "Unit",
    "discover",
    "docker_gpu_options",
    "driver_volume",
    "find_gpus",
    "gpu_isolators",
]
