"""What is to be fetched, and how it reaches the child: environment variables, which other users cannot see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

_PREFIX = "FETCH_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One URI."""

    uri: str
    name: str
    """Of the file to write, relative to the directory of the job."""
    source: str | None = None
    """A file that holds what the URI leads to; None: the URI itself is asked."""
    is_executable: bool = False
    is_extracted: bool = False
    limit: int | None = None
    """More bytes than this are an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """URIs in the order in which they are fetched, and whose rights are taken for that (None: those there are)."""

    items: tuple[Item, ...]
    uid: int | None = None
    gid: int | None = None
    groups: tuple[int, ...] = ()
    log: str = "/dev/null"
    """A file that is told what happens; appended to, made if it is missing."""
    frameworks_home: str | None = None
    stall_timeout_s: float = 60.0

    def to_environment(self) -> dict[str, str]:
        common = asdict(self)
        del common["items"]
        items = {f"{_PREFIX}{index}": json.dumps(asdict(item)) for index, item in enumerate(self.items)}
        return {f"{_PREFIX}JOB": json.dumps(common), **items}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Job:
        items: list[Item] = []
        while (text := environment.get(f"{_PREFIX}{len(items)}")) is not None:
            items.append(Item(**json.loads(text)))
        return cls(items=tuple(items), **json.loads(environment[f"{_PREFIX}JOB"]))
