"""The versions: this project's own, and that of the Apache Mesos whose protocols it speaks."""

from typing import NamedTuple

__version__ = "1.0.0"

MESOS_VERSION = "1.11.0"

VERSION_LINE = f"mesos {MESOS_VERSION} (TFMesos {__version__})"
"""The answer of Mesos' programs to `--version`. Mesos 1.11 prints the first two words; scripts take the second
(`cut -d" " -f2`), so there is one line, and ours comes behind."""


class Build(NamedTuple):
    """What `/version` says besides the version."""

    date: str
    time_s: float
    user: str


def build_of_this() -> Build:
    """This installation: the date is that of its files, the user the one who runs it."""
    import getpass
    import os
    import time

    try:
        written_s = float(int(os.stat(__file__).st_mtime))
    except OSError:
        written_s = 0.0
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return Build(time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(written_s)), written_s, user)
