"""Which sandbox a virtual path means (Mesos 1.11).

<work_dir>/slaves/<agent>/frameworks/<framework>/executors/<executor>/runs/<container or latest>
                         /frameworks/<framework>/executors/<executor>/runs/<container or latest>
/slave/log                                                                the agent's own log
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from tfmesos.endpoints import Attached, LogFile

LOG_PATH = "/slave/log"
_RUN = re.compile(r"(?:/slaves/([^/]+))?(/frameworks/[^/]+/executors/[^/]+/runs/[^/]+)(/.*)?", re.DOTALL)


class AgentAttachments:
    """What is attached where: sandboxes, whether their container runs or has ended, and the log."""

    def __init__(
        self, work_dir: Path, log: LogFile, agent_id: Callable[[], str | None], sandboxes: Callable[[], Iterable[str]]
    ) -> None:
        """`sandboxes`: the directories of the executors that the agent knows."""
        self._work_dir = str(work_dir)
        self._log = log
        self._agent_id = agent_id
        self._sandboxes = sandboxes

    def find(self, path: str) -> Attached | None:
        """What the beginning of this virtual path stands for; None if nothing does."""
        return self._log.find(path) or self._sandbox(path)

    def all(self) -> dict[str, str]:
        """Every virtual path with the real one behind it, of the executors that the agent knows."""
        attached = self._log.all()
        for real in self._sandboxes():
            latest = f"{real.rpartition('/')[0]}/latest"
            short = latest[latest.find("/frameworks/") :]
            attached |= dict.fromkeys((real, latest, short), real)
        return attached

    def _sandbox(self, path: str) -> Attached | None:
        match = _RUN.fullmatch(path.removeprefix(self._work_dir))
        if match is None or bool(match[1]) != path.startswith(f"{self._work_dir}/slaves/"):
            return None
        agent_id = match[1] or self._agent_id()
        attached = f"/slaves/{agent_id}{match[2]}"
        if not agent_id or ".." in attached.split("/"):
            return None
        return Attached(self._work_dir + attached, (match[3] or "").lstrip("/"))
