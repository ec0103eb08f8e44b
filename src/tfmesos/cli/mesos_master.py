"""`mesos-master`: the embedded master as a daemon."""

import sys
from collections.abc import Sequence

from tfmesos.cli.daemon import run_daemon, stop_signals
from tfmesos.master import MasterFlags

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status."""
    return run_daemon("mesos-master", MasterFlags, argv, _serve)


async def _serve(flags: MasterFlags) -> None:
    """Run the master until SIGTERM or SIGINT."""
    from tfmesos.master import Master

    stop = stop_signals()
    master = Master(flags)
    await master.start()
    try:
        await stop.wait()
    finally:
        await master.close()


if __name__ == "__main__":
    sys.exit(main())
