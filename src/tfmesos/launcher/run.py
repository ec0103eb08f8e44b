"""A run of a job: the asyncio shell around the gang's core."""

from tfmesos.discovery import Detector
from tfmesos.launcher.options import RunOptions
from tfmesos.launcher.sinks import TextSink
from tfmesos.launcher.tasks import Outcome, TaskView


class JobRun:
    """One job from its subscription to its end. All methods are called in one event loop; nothing runs before `start`.

    The framework and all of its tasks are gone once `wait_finished` or `stop` has returned.
    """

    def __init__(self, options: RunOptions, detector: Detector, *, output: TextSink) -> None:
        raise NotImplementedError

    async def start(self) -> None:
        """Return when every task runs. Raises JobFailed (NeverFits) when the job ended before, MasterUnreachable, SubscriptionRejected."""
        raise NotImplementedError

    async def wait_finished(self) -> Outcome:
        """Wait for the end of the job: all output is written, no task is left. May be called by several and again."""
        raise NotImplementedError

    async def wait_listening(self) -> None:
        """Wait until the servers of all tasks without a command accept connections. Raises JobFailed when the job ends before."""
        raise NotImplementedError

    async def stop(self, *, exit_status: int = 130, text: str = "interrupted", at_once: bool = False) -> None:
        """End the job: tasks are killed within their grace, `at_once` without. The outcome has this status unless it is decided already.

        May be called again: a second call with `at_once` shortens the first. Returns when all is gone.
        """
        raise NotImplementedError

    @property
    def outcome(self) -> Outcome | None:
        """How the job ended, None while it lives."""
        raise NotImplementedError

    @property
    def framework_id(self) -> str:
        """The id the master gave, empty before."""
        raise NotImplementedError

    @property
    def tasks(self) -> tuple[TaskView, ...]:
        """All tasks in order of role and index, as they are now."""
        raise NotImplementedError

    @property
    def targets(self) -> dict[str, str]:
        """`{"/job:ps/task:0": "grpc://host:port"}` for every task."""
        raise NotImplementedError

    @property
    def cluster_spec(self) -> dict[str, list[str] | dict[int, str]]:
        """What tf.train.ClusterSpec takes: lists in order of the index; a role that does not start at 0 is a sparse dict."""
        raise NotImplementedError
