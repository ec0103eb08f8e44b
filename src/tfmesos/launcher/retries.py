"""Whether a gang that did not come up is worth another try. Pure."""

from tfmesos.launcher import carrier
from tfmesos.launcher.members import Member
from tfmesos.launcher.statuses import ERROR, Status, exit_status, is_start_failure

ATTEMPTS = 3

PORT_WINDOW_S = 30.0
"""How long after its launch the carrier's status for a taken port is believed: later it is the program's own."""

_NO_IMAGE_NAME = "Failed to parse docker image"
"""Mesos 1.11: the image has a name that no image can have."""


def may_retry(member: Member, status: Status, *, attempt: int, all_run: bool, now: float) -> bool:
    """Fresh ids and ports may help where a task did not start, or found its port taken.

    TASK_ERROR is final, and so is what can be no image's name: it would be invalid again. Once all have run only a
    taken port counts.
    """
    if attempt >= ATTEMPTS or status.state == ERROR or member.is_local or _NO_IMAGE_NAME in status.message:
        return False
    if exit_status(status.message) == carrier.PORT_TAKEN and now - member.launched_at < PORT_WINDOW_S:
        return True
    return not all_run and is_start_failure(status, has_run=member.has_run)
