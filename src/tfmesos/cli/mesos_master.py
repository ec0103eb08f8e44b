"""`mesos-master`: the embedded master as a daemon."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfmesos.errors import TfmesosError
from tfmesos.flags import FlagError, load_flags, usage, wants_help, wants_version
from tfmesos.master import MasterFlags
from tfmesos.version import MESOS_VERSION

if TYPE_CHECKING:
    from tfmesos.master import Master

_PROGRAM = "mesos-master"


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; statuses as Mesos' own: 0, or 1 for wrong usage and what cannot start."""
    words = sys.argv[1:] if argv is None else argv
    if wants_help(words):
        print(usage(MasterFlags, _PROGRAM), end="")
        return 0
    if wants_version(words):
        print(f"mesos {MESOS_VERSION}")
        return 0
    try:
        flags = load_flags(MasterFlags, words, os.environ)
    except FlagError as error:
        print(f"{error}\n\nSee `{_PROGRAM} --help` for a list of supported flags.", file=sys.stderr)
        return error.exit_status
    return _run(flags)


def _run(flags: MasterFlags) -> int:
    import asyncio

    from tfmesos.master import Master

    try:
        master = Master(flags)
        _configure_logging(flags)
        asyncio.run(_serve(master))
    except TfmesosError as error:
        print(f"{_PROGRAM}: {error}", file=sys.stderr)
        return error.exit_status
    return 0


async def _serve(master: "Master") -> None:
    import asyncio
    import signal

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await master.start()
    try:
        await stop.wait()
    finally:
        await master.close()


def _configure_logging(flags: MasterFlags) -> None:
    import logging

    handler: logging.Handler = logging.NullHandler() if flags.quiet else logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname).1s %(name)s: %(message)s"))
    logging.basicConfig(level=flags.logging_level, handlers=[handler])


if __name__ == "__main__":
    sys.exit(main())
