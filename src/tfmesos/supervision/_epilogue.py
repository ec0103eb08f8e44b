"""The command that cleans up after a program whose owner is gone."""

import os
import select
from collections.abc import Sequence
from signal import SIGKILL

from tfmesos.supervision._search_path import SEARCH_PATH
from tfmesos.supervision.processes import open_pidfd

_PATH = SEARCH_PATH.encode()
_PATIENCE_S = 30.0
"""It must not keep this supervisor for ever; whoever comes next looks for what is left."""


def run_epilogue(argv: Sequence[bytes]) -> None:
    """Returns when it has ended. Never raises: nobody is there who could be told."""
    null = os.open(b"/dev/null", os.O_RDWR | os.O_CLOEXEC)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, null, number) for number in range(3)]
        pid = os.posix_spawnp(argv[0], list(argv), {b"PATH": _PATH}, file_actions=actions)
    except OSError:
        return
    finally:
        os.close(null)
    ended = open_pidfd(pid)
    if not select.select([ended], [], [], _PATIENCE_S)[0]:
        os.kill(pid, SIGKILL)
    os.waitpid(pid, 0)
    os.close(ended)
