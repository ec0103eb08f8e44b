"""Reading Mesos' statuses: the one place where an exit status is told from a message. Pure."""

import re
from dataclasses import dataclass

EXITED = re.compile(r"\b(?:Command|Container|Executor) exited with status (\d+)")
SIGNALLED = re.compile(r"\b(?:Command|Container|Executor) terminated with signal ([^;(\n]+)")

SIGNALS = (
    "Hangup", "Interrupt", "Quit", "Illegal instruction", "Trace/breakpoint trap", "Aborted", "Bus error",
    "Floating point exception", "Killed", "User defined signal 1", "Segmentation fault", "User defined signal 2",
    "Broken pipe", "Alarm clock", "Terminated", "Stack fault", "Child exited", "Continued", "Stopped (signal)",
    "Stopped", "Stopped (tty input)", "Stopped (tty output)", "Urgent I/O condition", "CPU time limit exceeded",
    "File size limit exceeded", "Virtual timer expired", "Profiling timer expired", "Window changed", "I/O possible",
    "Power failure", "Bad system call",
)  # fmt: skip
"""What glibc's strsignal says of the signals 1 to 31 on Linux: Mesos prints that, not the number."""

UNKNOWN_STATUS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One status update, as texts: `state` is `TASK_RUNNING`, `reason` and `source` are empty where there are none."""

    task_id: str
    agent_id: str
    state: str
    reason: str = ""
    source: str = ""
    message: str = ""
    executor_id: str = ""


FINISHED = "TASK_FINISHED"
ERROR = "TASK_ERROR"
UNREACHABLE = "TASK_UNREACHABLE"
VANISHED = frozenset({"TASK_LOST", "TASK_DROPPED", "TASK_GONE", "TASK_GONE_BY_OPERATOR", "TASK_UNKNOWN"})
"""The task is nowhere; what it did until then is not known. TASK_UNKNOWN: the master's answer to a reconciliation."""
TERMINAL = VANISHED | {FINISHED, ERROR, "TASK_FAILED", "TASK_KILLED"}


def exit_status(message: str) -> int:
    """The exit status of a task by its status' message, 128+n for a signal; 1 where it cannot be told."""
    if match := EXITED.search(message):
        number = int(match[1])
        return number if 0 < number < 256 else UNKNOWN_STATUS
    if match := SIGNALLED.search(message):
        name = match[1].strip()
        if name in SIGNALS:
            return 128 + SIGNALS.index(name) + 1
    return UNKNOWN_STATUS


def is_start_failure(status: Status, *, has_run: bool) -> bool:
    """Whether another try with fresh ids may help: the task vanished, or its agent could not start it."""
    if status.state in VANISHED or status.state == UNREACHABLE:
        return True
    return not has_run and status.state == "TASK_FAILED" and status.source != "SOURCE_EXECUTOR"


def removal_text(text: str) -> str:
    """What an ERROR event of the master means for the user.

    Mesos 1.11: a framework hears `Framework has been removed` when it subscribes again, whether an operator removed it
    or the master gave it up because its connection was lost.
    """
    if "Framework has been removed" in text:
        return f"torn down by operator, or given up as its connection was lost (the master says: {text})"
    return f"the master says: {text}"
