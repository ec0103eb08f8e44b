"""The agent's facts on disk."""

from __future__ import annotations

from pathlib import Path

from tfmesos.agent.checkpoint.codec import CODEC, KIND, VERSION
from tfmesos.agent.checkpoint.facts import Fact
from tfmesos.agent.checkpoint.recovered import Recovered
from tfmesos.agent.checkpoint.state import CheckpointState
from tfmesos.agent.errors import CheckpointUnusable
from tfmesos.journal import JournalDamaged, JournalError, JournalUnreadable, Keeper

META_DIR = "meta"
_FILE = "agent.journal"


class CheckpointStore:
    """Keeps facts; a full disk delays (`wait_written`, `sync`), it does not lose."""

    def __init__(self, keeper: Keeper[Fact], max_completed_frameworks: int) -> None:
        """For `open`."""
        self.path = keeper.path
        self.faults = keeper.skipped
        """How much of what was kept could not be read (0 unless that was allowed)."""
        self._keeper = keeper
        self._state = CheckpointState(max_completed_frameworks, keeper.take_facts())
        keeper.begin(self._state.facts)

    @classmethod
    def open(cls, work_dir: Path, *, is_strict: bool, max_completed_frameworks: int) -> CheckpointStore:
        """Read what the agent before kept, or begin anew. With `is_strict` any damage is an error.

        Raises CheckpointUnusable, which names the file.
        """
        path = work_dir / META_DIR / _FILE
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            keeper = Keeper.open(path, kind=KIND, version=VERSION, codec=CODEC, strict=is_strict)
        except (JournalDamaged, JournalUnreadable) as error:
            reason = f"{error.reason} (--no-strict recovers what is intact)"
            raise CheckpointUnusable(str(path), reason) from error
        except JournalError as error:
            raise CheckpointUnusable(str(path), error.reason) from error
        except OSError as error:
            raise CheckpointUnusable(str(path), error.strerror or str(error)) from error
        return cls(keeper, max_completed_frameworks)

    def recovered(self) -> Recovered:
        """What all facts come to, as a thing of its own."""
        return self._state.copy()

    def has_framework(self, framework_id: str) -> bool:
        """Whether facts of this framework are kept."""
        return framework_id in self._state.sum.frameworks

    def keep(self, fact: Fact) -> None:
        """Write a fact down. It survives the end of this process at once; the machine's, after `sync`."""
        self._state.apply(fact)
        self._keeper.keep(fact)

    async def wait_written(self) -> None:
        """Until all facts survive the end of this process: at once, unless the disk is full."""
        await self._keeper.wait_written()

    async def sync(self) -> None:
        """Until all facts so far are on disk; callers at the same time share one flush."""
        await self._keeper.sync()

    def clear(self) -> bool:
        """Forget everything: the next agent is a new one. False if the disk does not take that, which is logged."""
        self._state.clear()
        return self._keeper.compact()

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        self._keeper.close()
