"""What the programs of the two daemons have in common: words in, a log, an exit status out."""

import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tfmesos.cli.printing import NoReader, print_text
from tfmesos.errors import TfmesosError
from tfmesos.flags import FlagError, load_flags, usage, wants_help, wants_version
from tfmesos.version import MESOS_VERSION

if TYPE_CHECKING:
    import asyncio

_FAILED = 1


class DaemonFlags(Protocol):
    """What every daemon can be told of its log."""

    @property
    def quiet(self) -> bool: ...

    @property
    def logging_level(self) -> str: ...


F = TypeVar("F", bound=DaemonFlags)


def run_daemon(
    program: str, kind: type[F], words: Sequence[str] | None, serve: Callable[[F], Coroutine[Any, Any, None]]
) -> int:
    """Read flags of this kind and serve; statuses as Mesos' own: 0, or 1 for wrong usage and what cannot go on.

    `words` None: the command line. `serve` imports what the help does not need.
    """
    words = sys.argv[1:] if words is None else words
    try:
        if wants_help(words):
            print_text(usage(kind, program))
            return 0
        if wants_version(words):
            print_text(f"mesos {MESOS_VERSION}\n")
            return 0
        _serve(load_flags(kind, words, os.environ), serve)
    except FlagError as error:
        print(f"{error}\nSee `{program} --help` for a list of supported flags.", file=sys.stderr)
        return _FAILED
    except NoReader:
        return 0
    except TfmesosError as error:
        print(error, file=sys.stderr)
        return _FAILED
    return 0


def stop_signals() -> "asyncio.Event":
    """Set by the first SIGTERM or SIGINT from now on, which then end nothing by themselves."""
    import asyncio
    import signal

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def _serve(flags: F, serve: Callable[[F], Coroutine[Any, Any, None]]) -> None:
    import asyncio
    import logging

    handler: logging.Handler = logging.NullHandler() if flags.quiet else logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=flags.logging_level, handlers=[handler])
    asyncio.run(serve(flags))
