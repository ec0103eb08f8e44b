"""An image as its author thinks of it: layers and how to run it."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.images.content import Directory, Entry, File, Symlink
from tests.images.layers import Layer

_BUSYBOX = Path("/bin/busybox")
"""Of Debian's busybox-static."""

_PATH = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",)


@dataclass(frozen=True, kw_only=True)
class Image:
    """The base layer first. Environment as `NAME=value`."""

    layers: tuple[Layer, ...]
    environment: tuple[str, ...] = _PATH
    entrypoint: tuple[str, ...] | None = None
    cmd: tuple[str, ...] | None = None
    working_directory: str = ""
    user: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    architecture: str = "amd64"

    def config(self) -> bytes:
        """The config file; docker and OCI have the same."""
        return json.dumps(self._config(), sort_keys=True).encode()

    def v1(self, index: int) -> dict[str, Any]:
        """The `json` of a layer as `docker save` before 25 wrote it; only the top one says how to run it."""
        described: dict[str, Any] = {"id": self.v1_id(index), "created": "1970-01-01T00:00:00Z", "os": "linux"}
        if index:
            described["parent"] = self.v1_id(index - 1)
        if index == len(self.layers) - 1:
            described |= {"architecture": self.architecture, "config": self._runtime(), "container_config": {}}
        return described

    def v1_id(self, index: int) -> str:
        """64 digits for a layer on top of those beneath."""
        chain = " ".join(layer.diff_id for layer in self.layers[: index + 1])
        return sha256(chain.encode() + self.config()).hexdigest()

    def _config(self) -> dict[str, Any]:
        return {
            "architecture": self.architecture,
            "os": "linux",
            "created": "1970-01-01T00:00:00Z",
            "config": self._runtime(),
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in self.layers]},
            "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "tests"} for _ in self.layers],
        }

    def _runtime(self) -> dict[str, Any]:
        every: dict[str, Any] = {
            "Env": list(self.environment),
            "Entrypoint": None if self.entrypoint is None else list(self.entrypoint),
            "Cmd": None if self.cmd is None else list(self.cmd),
            "WorkingDir": self.working_directory,
            "User": self.user,
            "Labels": dict(self.labels),
        }
        return {name: value for name, value in every.items() if value}


def layers_of(*contents: Mapping[str, Entry]) -> tuple[Layer, ...]:
    """One for each mapping of path → entry."""
    return tuple(Layer.of(entries) for entries in contents)


def busybox_image(
    *more: Layer | Mapping[str, Entry],
    environment: Sequence[str] = _PATH,
    entrypoint: Sequence[str] | None = None,
    cmd: Sequence[str] | None = ("sh",),
    working_directory: str = "",
    user: str = "",
    labels: Mapping[str, str] | None = None,
) -> Image:
    """A shell and its tools, accounts of root and nobody, and an /etc/os-release that says `tests`; `more` on top."""
    return Image(
        layers=(_busybox_layer(), *(layer if isinstance(layer, Layer) else Layer.of(layer) for layer in more)),
        environment=tuple(environment),
        entrypoint=None if entrypoint is None else tuple(entrypoint),
        cmd=None if cmd is None else tuple(cmd),
        working_directory=working_directory,
        user=user,
        labels=labels or {},
    )


@cache
def _busybox_layer() -> Layer:
    entries: dict[str, Entry] = {name: Directory() for name in ("bin", "dev", "etc", "proc", "sys", "usr/bin", "var")}
    entries |= {"tmp": Directory(mode=0o1777), "root": Directory(mode=0o700)}
    entries["bin/busybox"] = File(content=_BUSYBOX.read_bytes(), mode=0o755)
    applets = subprocess.run([_BUSYBOX, "--list"], check=True, capture_output=True, text=True).stdout.split()
    entries |= {f"bin/{applet}": Symlink(target="busybox") for applet in applets if applet != "busybox"}
    entries["etc/passwd"] = _text("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
    entries["etc/group"] = _text("root:x:0:\nnogroup:x:65534:\n")
    entries["etc/os-release"] = _text('ID=tests\nNAME="tests"\n')
    return Layer.of(entries)


def _text(content: str) -> File:
    return File(content=os.fsencode(content))


_LOADER = Path("/lib64/ld-linux-x86-64.so.2")
_LIBRARIES = ("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0")
_DRIVERS = "/usr/local/nvidia"
"""Where nvidia/cuda looks for the driver's files (NVIDIA: the images' Dockerfiles)."""


def glibc_layer() -> Layer:
    """What programs of this machine want, on top of a shell and its tools."""
    folder = Path(f"/lib/{sysconfig.get_config_var('MULTIARCH')}")
    entries: dict[str, Entry] = {str(_LOADER): File(content=_LOADER.read_bytes(), mode=0o755)}
    entries |= {f"{folder}/{name}": File(content=(folder / name).read_bytes(), mode=0o755) for name in _LIBRARIES}
    return Layer.of(entries)


def cuda_image(*more: Layer | Mapping[str, Entry], environment: Sequence[str] = ()) -> Image:
    """It asks for GPUs as `nvidia/cuda` does, and runs the driver's programs; `environment` overrides."""
    asks = {
        "PATH": f"{_DRIVERS}/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LD_LIBRARY_PATH": f"{_DRIVERS}/lib:{_DRIVERS}/lib64",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
    } | dict(entry.split("=", 1) for entry in environment)
    return busybox_image(
        glibc_layer(),
        *more,
        environment=[f"{name}={value}" for name, value in asks.items()],
        labels={"com.nvidia.volumes.needed": "nvidia_driver"},
    )
