"""As whom a task runs. Resolved by the agent: a supervisor must not look up names."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass

from tfmesos.agent.errors import BadUser


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A user's ids on this machine."""

    uid: int
    gid: int
    groups: tuple[int, ...]


def identity_of(name: str) -> Identity | None:
    """The ids that a task of this user has to take; None if the agent is that user already.

    Raises BadUser if there is no such user, or if this agent may not become it.
    """
    try:
        user = pwd.getpwnam(name)
    except (KeyError, ValueError):  # ValueError: a zero byte in the name
        raise BadUser(f"there is no user {name!r} on this agent") from None
    if user.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        own = user_name(os.geteuid())
        raise BadUser(
            f"cannot run as user {name!r}: the agent runs as {own!r}; start it as root or with --no-switch_user"
        )
    return Identity(uid=user.pw_uid, gid=user.pw_gid, groups=tuple(os.getgrouplist(name, user.pw_gid)))


def user_name(uid: int) -> str:
    """A user's name, or its number as text."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
