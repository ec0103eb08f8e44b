"""Starts programs and ends them whole: one supervisor per program, forked from a process kept ready. Knows no Mesos.

    this process ── fork server (subreaper) ─┬─ supervisor (subreaper) ── program ── … its whole tree
                                             └─ supervisor (subreaper) ── program ── …

Promises, each also when the part named is lost to a kill -9:

* a program's tree is what descends from its supervisor, other process groups and sessions included; it ends as a whole:
  when the program's main process ends, when it is killed, when this process, the fork server or the supervisor is lost;
* no process is left 10 s after any of these losses; this process alone decides when it ends on purpose;
* `Supervised.wait` answers exactly once per program, when nothing of its tree is left.

A detached program outlives this process and the fork server that it came from, with its supervisor; whoever comes next
adopts it by its `record_dir`, and these promises are kept to that one. Nothing that was asked for is forgotten in the
meantime (a kill is completed in time), and an end without an owner is kept for the next one.

Standard library only, usable from any asyncio loop in any thread; touches no signal handler of this process.
"""

from tfmesos.supervision._recovery import marked_by
from tfmesos.supervision._search_path import SEARCH_PATH
from tfmesos.supervision.console import ConsoleStream, OutputName
from tfmesos.supervision.errors import ConsoleBusy, LetGo, OwnedElsewhere, SupervisionError, SupervisorLost
from tfmesos.supervision.foreground import Foreground
from tfmesos.supervision.processes import open_pidfd, process_start_time, raise_descriptor_limit, read_boot_id
from tfmesos.supervision.spec import Console, LogLimit, ProcessSpec, Starter, Termination
from tfmesos.supervision.statistics import TreeStatistics, process_statistics
from tfmesos.supervision.supervised import Supervised
from tfmesos.supervision.supervisors import Supervisors

__all__ = [
    "SEARCH_PATH",
    "Console",
    "ConsoleBusy",
    "ConsoleStream",
    "Foreground",
    "LetGo",
    "LogLimit",
    "OutputName",
    "OwnedElsewhere",
    "ProcessSpec",
    "Starter",
    "Supervised",
    "SupervisionError",
    "SupervisorLost",
    "Supervisors",
    "Termination",
    "TreeStatistics",
    "marked_by",
    "open_pidfd",
    "process_start_time",
    "process_statistics",
    "raise_descriptor_limit",
    "read_boot_id",
]
