"""Which containers with an image get the volume, and what they are told then. Pure.

In a container it is DIRECTORY. What an image says of itself is `Env` and `Labels` of its `config` object (Docker: image
manifest v1; OCI: image-spec, config.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tfmesos.supervision import SEARCH_PATH

DIRECTORY = "/usr/local/nvidia"
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_UNWANTED = ("", "void")
_LABEL = "com.nvidia.volumes.needed"
_DEFAULTS = {"PATH": SEARCH_PATH, "LD_LIBRARY_PATH": ""}
"""Where an image says nothing: Docker's own PATH."""
_ADDITIONS = {
    "PATH": (f"{DIRECTORY}/bin",),
    "LD_LIBRARY_PATH": ("/usr/local/cuda/compat", f"{DIRECTORY}/lib", f"{DIRECTORY}/lib64"),
}
"""An image's newer CUDA brings compat/, which goes before the machine's own libraries."""


def should_inject(environment: Sequence[str], labels: Collection[str], *, has_gpus: bool) -> bool:
    """Whether a container of an image with these `NAME=value` entries and names of labels gets the volume.

    What the image says of NVIDIA_VISIBLE_DEVICES is final. Beyond Mesos 1.11, one that says nothing gets it where the
    container has GPUs: else a plain image with GPUs would see none.
    """
    for entry in environment:
        name, is_entry, value = entry.partition("=")
        if is_entry and name == VISIBLE:
            return value not in _UNWANTED
    return has_gpus or _LABEL in labels


def volume_environment(image: Mapping[str, str], command: Mapping[str, str]) -> Mapping[str, str]:
    """PATH and LD_LIBRARY_PATH, so that the volume's files are found; to be set in place of the command's own.

    The command's value counts, without one the image's. The volume comes after what is there (Mesos 1.11 lets a
    command's own value hide it, and an image without a PATH have no other directory).
    """
    return {name: _extended(command.get(name) or image.get(name) or _DEFAULTS[name], name) for name in _ADDITIONS}


def _extended(value: str, name: str) -> str:
    parts = [part for part in value.split(":") if part]
    return ":".join(dict.fromkeys([*parts, *_ADDITIONS[name]]))
