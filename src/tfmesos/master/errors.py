"""The master's errors.

TfmesosError
  MasterError                   a master that cannot start or go on
    MasterFlagError             a flag's value is not allowed, or flags contradict each other
    WorkDirTaken                another master runs on this work_dir
    WorkDirUnusable             the work_dir cannot be made or written
    RegistryUnusable            what the master remembers cannot be read
    AddressUnusable             the address to listen on cannot be had
"""

from tfmesos.errors import TfmesosError


class MasterError(TfmesosError):
    """A master that cannot start or go on; Mesos' daemons end with status 1."""

    exit_status = 1


class MasterFlagError(MasterError):
    """A flag's value is not allowed, or flags contradict each other."""


class WorkDirTaken(MasterError):
    """Another master runs on this work_dir."""

    def __init__(self, work_dir: str) -> None:
        super().__init__(f"work_dir '{work_dir}' is used by another running master: stop it or give another --work_dir")
        self.work_dir = work_dir


class WorkDirUnusable(MasterError):
    """The work_dir cannot be made or written."""

    def __init__(self, work_dir: str, reason: str) -> None:
        super().__init__(f"cannot use work_dir '{work_dir}': {reason}")
        self.work_dir = work_dir


class RegistryUnusable(MasterError):
    """What the master remembers over a restart cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot use the registry '{path}': {reason}")
        self.path = path


class AddressUnusable(MasterError):
    """The address to listen on cannot be had."""

    def __init__(self, address: str, text: str) -> None:
        super().__init__(text)
        self.address = address
