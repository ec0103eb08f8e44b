"""Where the cgroups of an agent's containers are, for the next agent: the file `cgroups` in its runtime directory.

An agent finds what is below its own root in any tree. What is below another root it would neither rule nor remove.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.cgroups import Cgroups, Hierarchies, Lineage

_FORMAT = 1
_NAME = "cgroups"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Place:
    """By the values of the flags that say it."""

    cgroups_root: str
    cgroups_hierarchy: str

    def used(self, owner: str) -> set[Lineage]:
        """The containers of this owner that have a cgroup here."""
        hierarchies = Hierarchies.detect(base=self.cgroups_hierarchy)
        return set(Cgroups.open(hierarchies, self.cgroups_root, (), owner).widened(hierarchies).lineages())

    def words(self, other: _Place) -> str:
        """The flags that are not the same for the other one."""
        pairs = (("cgroups_root", other.cgroups_root), ("cgroups_hierarchy", other.cgroups_hierarchy))
        return " ".join(f"--{name}={getattr(self, name)}" for name, its in pairs if getattr(self, name) != its)


def flags_for_remains(flags: AgentFlags) -> AgentFlags:
    """The flags with which an agent finds the cgroups of the one before, wherever these flags want new ones."""
    before = _read(flags.runtime_path)
    if before is None:
        return flags
    return replace(flags, cgroups_root=before.cgroups_root, cgroups_hierarchy=before.cgroups_hierarchy)


def keep_place(flags: AgentFlags, owner: str) -> None:
    """Let the next agent know; the runtime directory is locked.

    Raises BadAgentFlags if the agent before has left cgroups elsewhere, and if this cannot be written.
    """
    before, now = _read(flags.runtime_path), _Place(flags.cgroups_root, flags.cgroups_hierarchy)
    if before == now:
        return
    if before is not None and before.used(owner) - now.used(owner):
        raise BadAgentFlags(
            f"containers of the agent before have their cgroups where {before.words(now)} says, not "
            f"{now.words(before)}: start with {before.words(now)}, or end them by --recover=cleanup"
        )
    _write(flags.runtime_path, now)


def _read(directory: Path) -> _Place | None:
    path = directory / _NAME
    try:
        found = json.loads(path.read_bytes())
        if found["format"] != _FORMAT:
            raise ValueError(f"its format is {found['format']}, this agent reads {_FORMAT}")
        return _Place(str(found["cgroups_root"]), str(found["cgroups_hierarchy"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _log.warning("%s cannot be read, so cgroups of the agent before are sought by the flags: %s", path, error)
        return None


def _write(directory: Path, place: _Place) -> None:
    kept = {"format": _FORMAT, "cgroups_root": place.cgroups_root, "cgroups_hierarchy": place.cgroups_hierarchy}
    fresh = directory / f"{_NAME}.new"
    try:
        fresh.write_text(json.dumps(kept))
        os.replace(fresh, directory / _NAME)
    except OSError as error:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise BadAgentFlags(f"--runtime_dir: cannot use {directory}: {error.strerror}") from error
