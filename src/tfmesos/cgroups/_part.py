"""A cgroup's directory in one tree."""

import os
from dataclasses import dataclass

from tfmesos.cgroups import _files
from tfmesos.cgroups.hierarchies import WITHOUT_CONTROLLER

LEAF = "leaf"
NESTED = "mesos"
GUEST = "oci"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`to_enable`: the controllers that its own children shall have; `is_nested`: it lies in the passage of another."""

    path: str
    version: int
    controllers: frozenset[str]
    to_enable: frozenset[str]
    is_nested: bool

    @property
    def procs_file(self) -> str:
        """Where a process writes itself in."""
        return f"{self.path}/{LEAF}/cgroup.procs" if self.version == 2 else f"{self.path}/cgroup.procs"

    @property
    def passage(self) -> str:
        """The directory between it and what is nested in it, made with the first of those."""
        return f"{self.path}/{NESTED}"

    @property
    def guest(self) -> str:
        """The directory that a container runtime makes for what it starts, with no rules and limits of its own."""
        return f"{self.path}/{GUEST}"

    @property
    def directories(self) -> tuple[str, ...]:
        """What `create` makes for it alone, the innermost first."""
        return (f"{self.path}/{LEAF}", self.path) if self.version == 2 else (self.path,)

    def has(self, controller: str) -> bool:
        """Whether the directory is there, and with this controller."""
        if self.version == 1 or controller in WITHOUT_CONTROLLER:
            return os.path.isdir(self.path)
        enabled = f"{self.path}/cgroup.controllers"
        return _files.exists(enabled) and controller in _files.read(enabled).split()

    def create(self) -> None:
        """Raises CgroupError; `Cgroup.remove_empty` removes what was made until then."""
        if self.is_nested:
            passage = os.path.dirname(self.path)
            _files.enable(os.path.dirname(passage), self.to_enable)
            _files.make_directory(passage)
            _files.enable(passage, self.to_enable)
        for path in reversed(self.directories):
            _files.make_directory(path)
