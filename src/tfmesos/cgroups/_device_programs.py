"""Device rules on cgroup version 2: one program of ours at the cgroup, found again by its name.

Every program at the cgroup and above it must allow a request. Those of others stay where they are: ours is attached
beside them, and only a program of our name is ever replaced.
"""

import contextlib
import os
from collections.abc import Collection, Iterator

from tfmesos.cgroups import _bpf
from tfmesos.cgroups._device_program import assemble
from tfmesos.cgroups.devices import DeviceRule
from tfmesos.cgroups.errors import CgroupError

PROGRAM_NAME = "tfmesos_devices"


class DevicePrograms:
    """The rules of one cgroup (DeviceControl)."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self) -> None:
        """The kernel keeps a program, not rules."""
        return

    def has_rules(self) -> bool:
        """A program of our name is attached."""
        with self._open() as cgroup, contextlib.ExitStack() as opened:
            try:
                return bool(_ours(cgroup, opened))
            except OSError as error:
                raise CgroupError(f"Cannot read the device rules of {self._path}: {error.strerror}") from error

    def set(self, rules: Collection[DeviceRule]) -> None:
        """One step replaces the program that is there, whoever attached it before under our name."""
        code = assemble(rules)
        with self._open() as cgroup, _closing(_bpf.load(code, PROGRAM_NAME)) as program:
            try:
                self._attach(cgroup, program)
            except OSError as error:
                raise CgroupError(self._explain(error)) from error

    def _attach(self, cgroup: int, program: int) -> None:
        with contextlib.ExitStack() as opened:
            ours = _ours(cgroup, opened)
            _bpf.attach(cgroup, program, replaced=ours[0] if ours else None)
            for superfluous in ours[1:]:
                _bpf.detach(cgroup, superfluous)

    @contextlib.contextmanager
    def _open(self) -> Iterator[int]:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise CgroupError(f"Cannot open the cgroup {self._path}: {error.strerror}") from error
        with _closing(descriptor):
            yield descriptor

    def _explain(self, error: OSError) -> str:
        why = ""
        if isinstance(error, PermissionError):
            why = "; a program at it or above it may be attached without BPF_F_ALLOW_MULTI (see `bpftool cgroup tree`)"
        return f"Cannot attach device rules to the cgroup {self._path}: {error.strerror}{why}"


def _ours(cgroup: int, opened: contextlib.ExitStack) -> list[int]:
    return [found for found in _programs(cgroup, opened) if _bpf.name_of(found) == PROGRAM_NAME]


def _programs(cgroup: int, opened: contextlib.ExitStack) -> Iterator[int]:
    """Descriptors of the programs at this cgroup; one that is detached meanwhile is passed over."""
    for number in _bpf.query(cgroup):
        with contextlib.suppress(FileNotFoundError):
            yield opened.enter_context(_closing(_bpf.open_program(number)))


@contextlib.contextmanager
def _closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)
