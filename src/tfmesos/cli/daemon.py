"""What the programs of the two daemons have in common: words in, a log, an exit status out."""

import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tfmesos.cli.printing import NoReader, print_text
from tfmesos.errors import TfmesosError
from tfmesos.flags import FlagError, load_flags, usage, wants, wants_help, wants_version
from tfmesos.version import VERSION_LINE

if TYPE_CHECKING:
    import asyncio
    import logging

_FAILED = 1


class DaemonFlags(Protocol):
    """What every daemon can be told of its log."""

    @property
    def quiet(self) -> bool: ...

    @property
    def logging_level(self) -> str: ...

    @property
    def log_dir(self) -> str | None: ...

    @property
    def external_log_file(self) -> str | None: ...


F = TypeVar("F", bound=DaemonFlags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Something else that a program does, with `--name`; `run` takes the words and returns the exit status."""

    name: str
    help: str
    run: Callable[[Sequence[str]], int]


def run_daemon(
    program: str,
    kind: type[F],
    words: Sequence[str] | None,
    serve: Callable[[F], Coroutine[Any, Any, None]],
    *modes: Mode,
) -> int:
    """Read flags of this kind and serve; statuses as Mesos' own: 0, or 1 for wrong usage and what cannot go on; and
    that of an error which has its own.

    `words` None: the command line. `serve` and the modes import what the help does not need.
    """
    words = sys.argv[1:] if words is None else words
    try:
        if wants_help(words):
            print_text(usage(kind, program, {mode.name: mode.help for mode in modes}))
            return 0
        if wants_version(words):
            print_text(f"{VERSION_LINE}\n")
            return 0
        for mode in modes:
            if wants(words, mode.name):
                return mode.run(words)
        _serve(program, load_flags(kind, words, os.environ), serve)
    except FlagError as error:
        print(f"{error}\nSee `{program} --help` for a list of supported flags.", file=sys.stderr)
        return _FAILED
    except NoReader:
        return 0
    except TfmesosError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    return 0


def stop_signals() -> "asyncio.Event":
    """Set by the first SIGTERM or SIGINT from now on, which then end nothing by themselves; the log names it."""
    import asyncio
    import logging
    import signal

    stop = asyncio.Event()

    def end(by: signal.Signals) -> None:
        logging.getLogger(__name__).info("%s: this program ends", by.name)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    return stop


async def started(start: Coroutine[Any, Any, None], stop: "asyncio.Event") -> bool:
    """Whether it came to its end before `stop`; if not, it was cancelled. A start may wait for long for others."""
    import asyncio

    starting, stopping = asyncio.create_task(start), asyncio.create_task(stop.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not starting.done():
        starting.cancel()
        await asyncio.wait({starting})
    return not starting.cancelled() and starting.result() is None


def _serve(program: str, flags: F, serve: Callable[[F], Coroutine[Any, Any, None]]) -> None:
    import asyncio
    import logging

    form = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    # The file first: who saw a line on standard error finds it in the file.
    handlers = [*_log_file(program, flags), logging.NullHandler() if flags.quiet else logging.StreamHandler(sys.stderr)]
    for handler in handlers:
        handler.setFormatter(form)
    logging.basicConfig(level=flags.logging_level, handlers=handlers)
    # What no line of the log has is not found out for each (Python: logging HOWTO, Optimization).
    logging.logProcesses = logging.logThreads = logging.logMultiprocessing = False
    asyncio.run(serve(flags))


def _log_file(program: str, flags: DaemonFlags) -> "Sequence[logging.Handler]":
    """What writes the log file, if one is wanted; it follows a file that is moved away (logrotate)."""
    from logging.handlers import WatchedFileHandler

    from tfmesos.endpoints import written_log

    path = written_log(flags, program)
    if path is None:
        return ()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return (WatchedFileHandler(path, encoding="utf-8"),)
    except OSError as error:
        raise FlagError(f"--log_dir={flags.log_dir}: cannot write {path}: {error.strerror}") from error
