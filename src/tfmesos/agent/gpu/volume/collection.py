"""Finds the programs and libraries of a machine's NVIDIA driver."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tfmesos.agent.gpu.volume.elf import BadElf, Elf, read_elf
from tfmesos.agent.gpu.volume.ld_cache import BadLdCache, read_ld_cache
from tfmesos.agent.gpu.volume.rooted import resolve
from tfmesos.agent.gpu.volume.selection import PROGRAMS, belongs, further_links, is_usable

_PROGRAM_DIRS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_LIBRARY_DIRS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/i386-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib32",
)
_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class DriverLibrary:
    """A file, and the names that programs load it by (its own is not among them)."""

    file: Path
    bits: int
    names: set[str] = field(default_factory=set)


def driver_programs(root: Path) -> dict[str, Path]:
    """Name and file of those of the driver's programs that are there."""
    found: dict[str, Path] = {}
    for name in PROGRAMS:
        for directory in _PROGRAM_DIRS:
            try:
                found.setdefault(name, resolve(root, f"{directory}/{name}"))
            except OSError:
                continue
    return found


def driver_libraries(root: Path, driver_version: str) -> list[DriverLibrary]:
    """The libraries of this version of the driver: those that the linker's cache names, and others that lie beside.

    What cannot be read is left out and told in the log.
    """
    collection = _Collection(root, driver_version)
    for name, path in _cached(root):
        collection.add(name, path)
    for directory in dict.fromkeys([*collection.directories(), *_LIBRARY_DIRS]):
        for file in sorted(root.joinpath(directory.lstrip("/")).glob(f"*.so.{driver_version}")):
            collection.add(file.name, f"{directory}/{file.name}")
    return list(collection.libraries.values())


def _cached(root: Path) -> Iterator[tuple[str, str]]:
    path = root / "etc/ld.so.cache"
    try:
        for library in read_ld_cache(path):
            yield library.name, library.path
    except (BadLdCache, OSError) as error:
        _log.warning("libraries of the NVIDIA driver are looked for in the usual directories only: %s", error)


class _Collection:
    def __init__(self, root: Path, driver_version: str) -> None:
        self._root = root
        self._version = driver_version
        self._looked_at: dict[Path, Elf | None] = {}
        self.libraries: dict[Path, DriverLibrary] = {}

    def add(self, name: str, path: str) -> None:
        """Take what programs load as `name`, if it is the driver's."""
        try:
            file = resolve(self._root, path)
        except OSError as error:
            _log.debug("%s: %s", path, error.strerror)
            return
        if not belongs(name, file.name, self._version):
            return
        elf = self._elf(file)
        if elf is None or not is_usable(name, elf):
            return
        library = self.libraries.setdefault(file, DriverLibrary(file=file, bits=elf.bits))
        names = {name, *further_links(name), *([elf.soname] if elf.soname else [])}
        library.names |= names - {file.name}

    def directories(self) -> list[str]:
        """Those that the files are in; a cache often names links in another one (Debian: nvidia/current)."""
        return [f"/{file.parent.relative_to(self._root)}" for file in self.libraries]

    def _elf(self, file: Path) -> Elf | None:
        if file not in self._looked_at:
            try:
                self._looked_at[file] = read_elf(file)
            except (BadElf, OSError) as error:
                _log.warning("left out of the driver volume: %s", error)
                self._looked_at[file] = None
        return self._looked_at[file]
