"""What a container holds, for the next agent: the file `gpus` in the container's runtime directory.

Written before the container can use what is new, and after it can use no more what was taken, so that it never names
too little. UUIDs stand for units: minors may be others after a driver was loaded anew.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tfmesos.agent.gpu.book import Holding
from tfmesos.agent.gpu.cards import Unit
from tfmesos.agent.gpu.errors import UnknownGpus

_FORMAT = 1
_NAME = "gpus"
_PAGE = 4096
"""So much one write changes or not, whenever the writer is killed."""
_log = logging.getLogger(__name__)


def write_record(directory: Path, holding: Holding) -> None:
    """Keep it; what holds nothing has no record. Raises OSError."""
    path = directory / _NAME
    if not holding.units and not holding.leaving:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        return
    text = json.dumps(
        {
            "format": _FORMAT,
            "shares": {name: _uuids(units) for name, units in holding.shares.items()},
            "leaving": _uuids(holding.leaving),
            "was_claimed": _uuids(holding.was_claimed),
        }
    )
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = directory / f"{_NAME}.new"
    try:
        fresh.write_text(text)
        os.replace(fresh, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            fresh.unlink()
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not _overwrite(path, text.encode()):
            raise


def read_record(directory: Path, units: Mapping[str, Unit]) -> Holding | None:
    """What was kept; None if nothing was. `units`: those of this agent, by UUID. Raises UnknownGpus for others."""
    path = directory / _NAME
    try:
        found = json.loads(path.read_bytes())
        if found["format"] != _FORMAT:
            raise ValueError(f"its format is {found['format']}, this agent reads {_FORMAT}")
        return Holding(
            shares={str(name): _units(uuids, units) for name, uuids in found["shares"].items()},
            leaving=_units(found["leaving"], units),
            was_claimed=_units(found["was_claimed"], units),
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        _log.warning("%s cannot be read, so its container has no GPUs: %s", path, error)
        return None


def _overwrite(path: Path, text: bytes) -> bool:
    """In the space that the record has, so that what a container gives back is not lost with it."""
    try:
        with open(path, "r+b", buffering=0) as file:
            status = os.fstat(file.fileno())
            padded = text.ljust(status.st_size)
            return len(padded) <= min(status.st_blocks * 512, _PAGE) and file.write(padded) == len(padded)
    except OSError:
        return False


def _uuids(units: Iterable[Unit]) -> list[str]:
    return [unit.uuid for unit in sorted(units)]


def _units(uuids: Iterable[str], units: Mapping[str, Unit]) -> frozenset[Unit]:
    unknown = [uuid for uuid in uuids if uuid not in units]
    if unknown:
        raise UnknownGpus(unknown)
    return frozenset(units[uuid] for uuid in uuids)
