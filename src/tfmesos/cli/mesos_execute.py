"""`mesos-execute`: runs one task, or one group of tasks, on a Mesos cluster and waits for its end."""

import sys
from typing import TYPE_CHECKING

from tfmesos.cli.printing import NoReader, print_text
from tfmesos.errors import TfmesosError
from tfmesos.flags import FlagError, load_flags, usage, wants_help, wants_version
from tfmesos.version import VERSION_LINE

if TYPE_CHECKING:
    from tfmesos.cli.execute.flags import ExecuteFlags

__all__ = ["main"]

_PROGRAM = "mesos-execute"
_FAILED = 1
_INTERRUPTED = 130
_NO_READER = 141


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit status."""
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except NoReader:
        return _NO_READER
    except TfmesosError as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        return _INTERRUPTED
    return _FAILED


def _main(words: list[str]) -> int:
    from tfmesos.cli.execute.flags import ExecuteFlags

    if wants_help(words):
        print_text(usage(ExecuteFlags, _PROGRAM))
        return 0
    if wants_version(words):
        print_text(f"{VERSION_LINE}\n")
        return 0
    try:
        return _run(load_flags(ExecuteFlags, words, None))
    except FlagError as error:
        print(f"{error}\n\n{usage(ExecuteFlags, _PROGRAM)}", file=sys.stderr)
        return _FAILED


def _run(flags: "ExecuteFlags") -> int:
    """Imports what the help does not need."""
    import asyncio

    from tfmesos.cli.execute.app import run
    from tfmesos.cli.execute.errors import UsageError
    from tfmesos.cli.execute.request import build_request
    from tfmesos.discovery import build_detector

    try:
        request = build_request(flags)
    except UsageError as error:
        raise FlagError(str(error)) from error
    detector = build_detector(flags.master)
    return asyncio.run(run(request, detector, flags.master))


if __name__ == "__main__":
    sys.exit(main())
