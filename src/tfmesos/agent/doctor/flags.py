"""The flags of an examination."""

from __future__ import annotations

from dataclasses import dataclass

from tfmesos.agent.flags import AgentFlags
from tfmesos.flags import flag


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFlags(AgentFlags):
    """Those of the agent that is to be started; what is not given is not looked at."""

    doctor: bool = flag(default=False, help="whether to look only")
    master: str = flag(default="", help="the master to look for")
    work_dir: str = flag(default="", help="the folder to look at")
