"""What the launcher hands to the child process on its standard input, and the answer on its standard output."""

import json
from dataclasses import asdict, dataclass

from tfmesos.errors import TfmesosError
from tfmesos.flags import FlagError
from tfmesos.launcher import NeverFits
from tfmesos.local.errors import LocalRefusal
from tfmesos.local.needs import LocalNeeds

__all__ = ["Answer", "Handover"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """Everything the child process is told. `locks` are inherited descriptors, held as long as the child lives."""

    launcher_pid: int
    runs_dir: str
    work_dir: str
    runtime_dir: str
    locks: tuple[int, ...]
    needs: LocalNeeds

    def to_json(self) -> bytes:
        """One line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> "Handover":
        """What `to_json` made."""
        values = json.loads(data)
        return cls(**{**values, "locks": tuple(values["locks"]), "needs": LocalNeeds(**values["needs"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One line: the cluster is ready, with notes for the user, or it could not start.

    `never_fits`: the error is that this machine has too little; `refused`: that it cannot serve what is asked.
    """

    notes: tuple[str, ...] = ()
    error: str | None = None
    never_fits: bool = False
    refused: bool = False

    @classmethod
    def of(cls, error: TfmesosError) -> "Answer":
        """It could not start."""
        refused = isinstance(error, LocalRefusal | FlagError)
        return cls(error=str(error), never_fits=isinstance(error, NeverFits), refused=refused)

    def to_json(self) -> bytes:
        """One line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes) -> "Answer":
        """What `to_json` made."""
        values = json.loads(data)
        return cls(**{**values, "notes": tuple(values["notes"])})
