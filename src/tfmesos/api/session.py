"""`cluster()` and what it gives to the block."""

import asyncio
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from tfmesos.api.arguments import ClusterArguments, Jobs, Volumes
from tfmesos.api.hosted import HostedRun
from tfmesos.api.loop_thread import LoopThread
from tfmesos.api.master import find_master
from tfmesos.api.output import PythonStreams
from tfmesos.errors import TfmesosError
from tfmesos.launcher import JobFailed, Outcome, TaskView

__all__ = ["Cluster", "cluster"]

ClusterSpec = dict[str, list[str] | dict[int, str]]


class Cluster:
    """A running job. Any thread may use it; every use raises JobFailed once the job has failed."""

    def __init__(self, loop: LoopThread, hosted: HostedRun) -> None:
        self._loop = loop
        self._hosted = hosted
        self._pid = os.getpid()
        self._outcome: Outcome | None = None
        self._error: Exception | None = None
        self._ended = threading.Event()
        self._is_listening = False

    @property
    def targets(self) -> dict[str, str]:
        """`{"/job:worker/task:0": "grpc://host:port"}`; waits until the servers accept connections."""
        self._check()
        if not self._is_listening:
            self._loop.call(self._hosted.wait_listening())
            self._is_listening = True
        return self._hosted.run.targets

    @property
    def cluster_spec(self) -> ClusterSpec:
        """What `tf.train.ClusterSpec` takes."""
        self._check()
        return self._hosted.run.cluster_spec

    @property
    def tasks(self) -> tuple[TaskView, ...]:
        """Every task as it is now; also after a failure."""
        return self._hosted.run.tasks

    def finished(self) -> bool:
        """Whether the job has ended well. Raises JobFailed if it has ended otherwise."""
        self._check()
        return self._outcome is not None

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the job has ended well: True; False when the time is over. Raises JobFailed."""
        self._ended.wait(timeout_s)
        return self.finished()

    @property
    def _is_ours(self) -> bool:
        """Whether this process began the block, and was not forked inside it."""
        return os.getpid() == self._pid

    def _start(self) -> None:
        self._loop.call(self._hosted.start())
        self._loop.call(self._begin_to_follow())

    async def _begin_to_follow(self) -> None:
        self._following = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        try:
            self._outcome = await self._hosted.wait_finished()
        except Exception as error:
            self._error = error
        finally:
            self._ended.set()

    def _failure(self) -> Exception | None:
        """A new one each time: a raised exception collects tracebacks."""
        outcome, error = self._outcome, self._error
        if isinstance(error, JobFailed):
            return JobFailed(str(error), exit_status=error.exit_status, failure=error.failure)
        if isinstance(error, TfmesosError):
            return JobFailed(str(error), exit_status=error.exit_status)
        if outcome is not None and outcome.exit_status:
            return JobFailed(outcome.text, exit_status=outcome.exit_status, failure=outcome.failure)
        return error

    def _check(self) -> None:
        failure = self._failure()
        if failure is not None:
            raise failure

    def _close(self) -> None:
        """End the job and what is beneath it. A KeyboardInterrupt meanwhile ends it at once, and is raised then.

        In a process forked inside the block nothing is done: the job is its parent's, and so is the loop's thread.
        """
        if not self._is_ours:
            return
        try:
            self._loop.call(self._hosted.close())
        except KeyboardInterrupt:
            self._loop.call(self._close_at_once())
            raise

    async def _close_at_once(self) -> None:
        await self._hosted.stop(exit_status=0, text="", at_once=True)
        await self._hosted.close()


def cluster(
    jobs: Jobs,
    *,
    master: str | None = None,
    role: str | None = None,
    name: str | None = None,
    quiet: bool = False,
    volumes: Volumes | None = None,
    containerizer_type: str | None = None,
    force_pull_image: bool = False,
    protocol: str = "grpc",
    env: Mapping[str, str] | None = None,
    extra_config: Mapping[str, object] | None = None,
    forward_addresses: Mapping[str, str] | None = None,
    image: str | None = None,
    shm: str | None = None,
    time_limit_s: float | None = None,
    fail_fast: bool = False,
    checkpoint: bool = False,
) -> AbstractContextManager[Cluster]:
    """A cluster for a `with` block: when the block begins every task runs, when it ends all are gone.

    `jobs` is a Job, a dict with a Job's names, or a list of either. `master` is `host:port` of a Mesos master; without
    it MESOS_MASTER counts; without that, or as `local`, the cluster is made on this machine for this job.
    `quiet` hides what tasks print. `volumes` are `{source: target}` or texts `SRC[:DST[:ro|rw]]`; `env` is the tasks'
    environment; `extra_config` has the shell commands `initializer` and `finalizer`; `image` is a container image
    (without it DOCKER_IMAGE counts), `shm` the size of the tasks' /dev/shm, as `2g`. `forward_addresses` of 0.0.10 has
    no meaning any more.
    Raises JobSpecError here; in the block, at its next use and at its end, JobFailed when the job fails.
    """
    if forward_addresses:
        warnings.warn("forward_addresses is ignored: tasks are reached at their own addresses", stacklevel=2)
    options = ClusterArguments(
        jobs=jobs,
        role=role,
        name=name,
        quiet=quiet,
        volumes=volumes,
        containerizer_type=containerizer_type,
        force_pull_image=force_pull_image,
        protocol=protocol,
        env=env,
        extra_config=extra_config,
        image=image,
        shm=shm,
        time_limit_s=time_limit_s,
        fail_fast=fail_fast,
        checkpoint=checkpoint,
    ).to_options()
    return _running(HostedRun(options, find_master(master, os.environ), output=PythonStreams()))


@contextmanager
def _running(hosted: HostedRun) -> Iterator[Cluster]:
    loop = LoopThread("tfmesos")
    running = Cluster(loop, hosted)
    try:
        try:
            running._start()
            yield running
        finally:
            failure = running._failure()
            running._close()
    except JobFailed:
        raise
    except Exception as error:
        if failure is not None:
            raise failure from error
        raise
    else:
        if failure is not None:
            raise failure
    finally:
        if running._is_ours:
            loop.close()
