"""`tfrun` put together: options to a run, signals to its end, its outcome to an exit status."""

import asyncio
import errno
import logging
import os
import signal
from contextlib import AbstractAsyncContextManager, nullcontext

from tfmesos.api import HostedRun, build_container, find_master, working_directory
from tfmesos.cli.run.options import TfrunOptions
from tfmesos.cli.run.terminal import Terminal
from tfmesos.launcher import ExtraConfig, Job, JobFailed, Outcome, RunOptions, Volume, jobs_from

__all__ = ["build_options", "dry_run", "run"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NAME_LENGTH = 100
_UNWRITTEN = 1


def run(options: TfrunOptions) -> int:
    """Run the job; its exit status. Raises TfmesosError when it was not even started."""
    _open_standard_descriptors()
    level = logging.INFO if options.verbose else logging.ERROR
    logging.basicConfig(level=level, format="tfrun: %(message)s")
    if options.tensorboard is not None:
        from tfmesos.cli.run.tensorboard import check_tensorboard

        check_tensorboard()
    return asyncio.run(_run(build_options(options), find_master(options.master, os.environ), options.tensorboard))


def dry_run(options: TfrunOptions) -> str:
    """What would be run. Raises JobSpecError."""
    from tfmesos.launcher import plan

    return "\n".join(task.to_text() for task in plan(build_options(options)))


def build_options(options: TfrunOptions) -> RunOptions:
    """The launcher's options. Raises JobSpecError."""
    return RunOptions(
        jobs=_jobs(options),
        framework_name=options.name if options.name is not None else _default_name(options.command),
        role=options.role if options.role is not None else "*",
        container=build_container(
            options.containerizer_type,
            options.image,
            [Volume.parse(text) for text in options.volume],
            force_pull=options.force_pull_image,
            shm=options.shm,
        ),
        environment=options.env,
        inherited=dict(os.environb),
        directory=working_directory(),
        placeholders=not options.no_placeholders,
        extra_config=ExtraConfig.read(options.extra_config) if options.extra_config is not None else ExtraConfig(),
        log_tasks=_log_tasks(options.worker_logs),
        fail_fast=options.fail_fast,
        checkpoint=options.checkpoint,
        time_limit_s=options.time_limit_s,
        embedded=find_master(options.master, os.environ) is None,
        local_worker=options.local_worker,
    )


async def _run(options: RunOptions, master: str | None, logs: str | None) -> int:
    ending = _Ending()
    output = Terminal(ending.on_closed)
    hosted = HostedRun(options, master, output=output)
    ending.follow(hosted, output)
    async with hosted, _tensorboard(logs, output):
        outcome = await _outcome(hosted)
        await ending.wait()
    if outcome.text:
        await output.print_text(outcome.text)
    await output.flush()
    if ending.lost and not outcome.exit_status:
        # The job was done before the end of its output could be written.
        await output.print_text(f"tfrun: {ending.lost}")
        return _UNWRITTEN
    return outcome.exit_status


def _tensorboard(logs: str | None, output: Terminal) -> AbstractAsyncContextManager[None]:
    if logs is None:
        return nullcontext()
    from tfmesos.cli.run.tensorboard import tensorboard

    return tensorboard(logs, output.write_note)


async def _outcome(hosted: HostedRun) -> Outcome:
    try:
        await hosted.start()
        return await hosted.wait_finished()
    except JobFailed as error:
        return Outcome(exit_status=error.exit_status, text=str(error), failure=error.failure)


class _Ending:
    """Signals, and output that cannot be written: the first ends the job, the second at once, a third this process."""

    def __init__(self) -> None:
        self._hosted: HostedRun | None = None
        self._output: Terminal | None = None
        self._count = 0
        self._lost = ""
        self._stops: set[asyncio.Task[None]] = set()

    def follow(self, hosted: HostedRun, output: Terminal) -> None:
        """From now on end this run. A signal that is ignored (nohup, a shell's `&`) stays so."""
        self._hosted, self._output = hosted, output
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._on_signal, number)

    @property
    def lost(self) -> str:
        """Why output could not be written though somebody waits for it; empty when all was."""
        return self._lost

    def on_closed(self, error: OSError) -> None:
        """Nobody reads standard output: end as a program does that does not ignore SIGPIPE. Or it cannot be written."""
        is_unread = error.errno in (errno.EPIPE, errno.EIO)  # EIO: the terminal has been closed
        if not is_unread:
            self._lost = f"cannot write to standard output: {error.strerror}"
        if not self._count:
            status = 128 + signal.SIGPIPE if is_unread else _UNWRITTEN
            self._end(status, self._lost or "nobody reads the output any more")

    async def wait(self) -> None:
        """Wait until every stop under way is done."""
        if self._stops:
            await asyncio.wait(self._stops)

    def _on_signal(self, number: signal.Signals) -> None:
        if self._count == 0 and self._output is not None:
            self._output.write_note(f"{number.name}: ending the tasks; once more ends them at once")
        self._end(128 + number, f"ended by {number.name}")

    def _end(self, status: int, text: str) -> None:
        self._count += 1
        if self._count > 2 or self._hosted is None:
            os._exit(status)
        stop = asyncio.create_task(self._hosted.stop(exit_status=status, text=text, at_once=self._count > 1))
        self._stops.add(stop)


def _open_standard_descriptors() -> None:
    """A descriptor that the user has closed (`>&-`) must not become a socket's, or logs would be written into it."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor: this one


def _jobs(options: TfrunOptions) -> tuple[Job, ...]:
    command = list(options.command)
    return jobs_from(
        [
            Job("ps", options.nserver, options.server_cpus, options.server_mem, options.server_gpus, command),
            Job("worker", options.nworker, options.worker_cpus, options.worker_mem, options.worker_gpus, command),
        ]
    )


def _log_tasks(ids: tuple[int, ...] | None) -> frozenset[tuple[str, int]] | None:
    return None if ids is None else frozenset(("worker", index) for index in ids)


def _default_name(command: tuple[str, ...]) -> str:
    text = " ".join(command)
    printable = "".join(char if char.isprintable() else " " for char in text)
    return f"[tfmesos] {printable}"[:_NAME_LENGTH]
