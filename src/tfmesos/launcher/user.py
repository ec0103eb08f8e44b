"""Who runs a job."""

import getpass
import os
import pwd

from tfmesos.launcher.errors import JobSpecError


def current_user() -> str:
    """By the user id: the environment may name somebody else. Only an id without a name is looked up there.

    Raises JobSpecError.
    """
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        pass
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise JobSpecError("who runs this is not known: the user id has no name; set USER") from None
