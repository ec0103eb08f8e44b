"""The last words about a job that failed. Pure."""

from collections.abc import Sequence

from tfmesos.launcher.events import Ending, FailedTask
from tfmesos.launcher.hints import hints
from tfmesos.launcher.tasks import Outcome, TaskFailure

_NOT_LAUNCHED = "REASON_CONTAINER_LAUNCH_FAILED"
"""Unless a fetcher wrote something, there is no output, and perhaps no sandbox."""


def build_outcome(
    ending: Ending, last_lines: Sequence[str] = (), log_path: str = "", *, image: str | None = None
) -> Outcome:
    """What the user is told; for a failed task with the end of its output and where all of it is.

    `image` is what the tasks run in, if they do.
    """
    if ending.failed is None:
        text = ending.text
        if ending.text and ending.stopped and ending.exit_status:
            text = f"{ending.text}; {_tasks(ending.stopped)} stopped by us"
        return Outcome(exit_status=ending.exit_status, text=text, never_fits=ending.never_fits)
    failure = _task_failure(ending.failed, last_lines, log_path)
    return Outcome(exit_status=ending.exit_status, text=_failure_text(failure, ending.stopped, image), failure=failure)


def _task_failure(failed: FailedTask, last_lines: Sequence[str], log_path: str) -> TaskFailure:
    status = failed.status
    return TaskFailure(
        job=failed.key.job,
        index=failed.key.index,
        agent=failed.hostname,
        state=status.state,
        reason=status.reason,
        source=status.source,
        message=status.message,
        exit_status=failed.exit_status,
        last_lines=tuple(last_lines),
        log_path=log_path,
    )


def _failure_text(failure: TaskFailure, stopped: int, image: str | None) -> str:
    details = ", ".join(part for part in (failure.reason, failure.source) if part)
    said = f": {_beginning(failure.message)}" if failure.message else ""
    lines = [f"{failure.job}:{failure.index} failed on agent {failure.agent or '(none)'}"]
    lines.append(f"  {failure.state}{f' ({details})' if details else ''}{said}")
    lines.append(f"  exit status {failure.exit_status}")
    lines += [f"  {hint}" for hint in hints(failure, image)]
    if failure.last_lines:
        count = len(failure.last_lines)
        lines.append(f"  the last {'line' if count == 1 else f'{count} lines'} of its output:")
        lines += [f"    {line}" for line in failure.last_lines]
    if failure.log_path and (failure.last_lines or failure.reason != _NOT_LAUNCHED):
        lines.append(f"  all of it: {failure.log_path} on {failure.agent}")
    if stopped:
        lines.append(f"  {_tasks(stopped, 'other ')} stopped by us")
    return "\n".join(lines)


def _beginning(message: str) -> str:
    """Its first paragraph: statistics follow where a container needed too much memory."""
    return message.split("\n\n", 1)[0]


def _tasks(number: int, which: str = "") -> str:
    return f"1 {which}task was" if number == 1 else f"{number} {which}tasks were"
