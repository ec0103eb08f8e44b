"""The CDI specifications of this machine.

/etc/cdi/*.{json,yaml,yml}      what an administrator has written
/var/run/cdi/*.{json,yaml,yml}  what programs make anew after each start of the machine; comes first
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tfmesos.agent.gpu.cdi.specification import BadSpecification, Specification, parse

_DIRECTORIES = ("var/run/cdi", "etc/cdi")
_SUFFIXES = (".json", ".yaml", ".yml")
_log = logging.getLogger(__name__)


class SpecificationFiles:
    """All of them, as they are whenever they are asked for: they are written anew with each driver."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._read: dict[_Version, Specification | None] = {}

    def read(self) -> list[Specification]:
        """One that cannot be read is told in the log, once, and left out."""
        versions = list(_versions(self._root))
        self._read = {version: self._read[version] if version in self._read else _read(version) for version in versions}
        return [specification for specification in self._read.values() if specification is not None]


@dataclass(frozen=True, slots=True)
class _Version:
    path: Path
    inode: int
    modified_ns: int
    size: int


def _versions(root: Path) -> Iterator[_Version]:
    for path in _files(root):
        with contextlib.suppress(OSError):
            status = path.stat()
            yield _Version(path, status.st_ino, status.st_mtime_ns, status.st_size)


def _read(version: _Version) -> Specification | None:
    try:
        return parse(_value(version.path))
    except BadSpecification as error:
        _log.warning("the CDI specification %s is left out: %s", version.path, error)
        return None


def _files(root: Path) -> Iterator[Path]:
    for directory in _DIRECTORIES:
        try:
            paths = sorted((root / directory).iterdir())
        except OSError:  # there is none, mostly
            continue
        yield from (path for path in paths if path.suffix in _SUFFIXES)


def _value(path: Path) -> object:
    try:
        text = path.read_text()
        return json.loads(text) if path.suffix == ".json" else _yaml(text)
    except (OSError, ValueError) as error:
        raise BadSpecification(str(error)) from error


def _yaml(text: str) -> object:
    import yaml  # only here: few machines have such a file

    try:
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise BadSpecification(str(error)) from error
