"""Which cluster a job runs on."""

from collections.abc import Mapping

__all__ = ["LOCAL", "find_master"]

LOCAL = "local"


def find_master(given: str | None, environ: Mapping[str, str]) -> str | None:
    """The master's address: as given, else MESOS_MASTER; None is the embedded cluster (`local`, or nothing at all)."""
    text = (given or environ.get("MESOS_MASTER", "")).strip()
    return None if text in ("", LOCAL) else text
