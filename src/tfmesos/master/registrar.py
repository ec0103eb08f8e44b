"""The registry on disk.

<work_dir>/registry.journal     operations (see `core.registry`), each written before what follows from it is told
"""

from __future__ import annotations

from pathlib import Path

from tfmesos.journal import (
    FLAG,
    SECONDS,
    TEXT,
    JournalDamaged,
    JournalError,
    JournalUnreadable,
    Keeper,
    RecordCodec,
    message,
)
from tfmesos.master.core.registry import (
    AdmitAgent,
    EndFramework,
    ForgetDriver,
    KeepDriver,
    LoseAgent,
    MarkAgent,
    MarkAgentGone,
    Operation,
    RegistryState,
    RemoveAgent,
    SetWeight,
)
from tfmesos.master.errors import RegistryUnusable
from tfmesos.wire import mesos_pb2, scheduler_pb2

REGISTRY_FILE = "registry.journal"
_KIND, _VERSION = "master-registry", 1
_CODEC: RecordCodec[Operation] = RecordCodec(
    {
        1: (AdmitAgent, (message(mesos_pb2.AgentInfo), TEXT)),
        2: (RemoveAgent, (TEXT,)),
        3: (LoseAgent, (TEXT, SECONDS)),
        4: (MarkAgentGone, (TEXT, SECONDS)),
        5: (MarkAgent, (TEXT, FLAG, message(mesos_pb2.DrainInfo), SECONDS)),
        6: (EndFramework, (TEXT,)),
        7: (KeepDriver, (message(mesos_pb2.FrameworkInfo), TEXT, TEXT, message(scheduler_pb2.OfferConstraints))),
        8: (ForgetDriver, (TEXT,)),
        9: (SetWeight, (message(mesos_pb2.WeightInfo),)),
    }
)


class Registrar:
    """A `Registry` in a file that survives kill -9 at any byte."""

    def __init__(self, keeper: Keeper[Operation], max_completed_frameworks: int) -> None:
        """For `open`."""
        self._keeper = keeper
        self._state = RegistryState(max_completed_frameworks)
        for operation in keeper.take_facts():
            self._state.apply(operation)
        keeper.begin(self._state.operations)

    @classmethod
    def open(cls, work_dir: Path, max_completed_frameworks: int) -> Registrar:
        """Read the registry of a work_dir, or begin one. Raises RegistryUnusable, which names the file."""
        path = work_dir / REGISTRY_FILE
        try:
            keeper = Keeper.open(path, kind=_KIND, version=_VERSION, codec=_CODEC)
        except (JournalDamaged, JournalUnreadable) as error:
            reason = f"{error.reason}; move the file away to start without its contents"
            raise RegistryUnusable(str(path), reason) from error
        except JournalError as error:
            raise RegistryUnusable(str(path), error.reason) from error
        except OSError as error:
            raise RegistryUnusable(str(path), error.strerror or str(error)) from error
        return cls(keeper, max_completed_frameworks)

    @property
    def state(self) -> RegistryState:
        """As read when it was opened, then the living one."""
        return self._state

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self._keeper.size

    def record(self, operation: Operation) -> None:
        """Write down an operation that `state` has taken in. On a full disk it waits and is tried again."""
        self._keeper.keep(operation)

    async def sync(self) -> None:
        """Until all that was recorded is on disk; callers at the same time share one flush."""
        await self._keeper.sync()

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        self._keeper.close()
