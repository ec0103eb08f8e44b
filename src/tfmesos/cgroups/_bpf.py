"""bpf(2): loads programs for device nodes, attaches them to cgroups, and finds them again.

kernel: include/uapi/linux/bpf.h; the layouts below are those of `union bpf_attr`. A program lives as long as it is
attached, whoever loaded it.
"""

import ctypes
import errno
import os
import platform
from collections.abc import Callable

from tfmesos.cgroups.errors import CgroupError

_NUMBERS = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "loongarch64": 280, "ppc64le": 361}
"""Of the system call; all of these machines are little-endian."""

_PROG_LOAD, _PROG_ATTACH, _PROG_DETACH = 5, 8, 9
_PROG_GET_FD_BY_ID, _OBJ_GET_INFO_BY_FD, _PROG_QUERY = 13, 15, 16
_PROG_TYPE_CGROUP_DEVICE = 15
_CGROUP_DEVICE = 6
_ALLOW_MULTI, _REPLACE = 2, 4
_RETRIES = 5
_LOG_SIZE = 1 << 16
_IDS_MAX = 64  # kernel: BPF_CGROUP_MAX_PROGS
_NO_DESCRIPTOR = 2**32 - 1


class _Load(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("instructions", ctypes.c_uint64),
        ("license", ctypes.c_uint64),
        ("log_level", ctypes.c_uint32),
        ("log_size", ctypes.c_uint32),
        ("log", ctypes.c_uint64),
        ("kernel_version", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("name", ctypes.c_char * 16),
        ("interface", ctypes.c_uint32),
        ("attach_type", ctypes.c_uint32),
    )


class _Attach(ctypes.Structure):
    _fields_ = (
        ("cgroup", ctypes.c_uint32),
        ("program", ctypes.c_uint32),
        ("attach_type", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("replaced", ctypes.c_uint32),
    )


class _Query(ctypes.Structure):
    _fields_ = (
        ("cgroup", ctypes.c_uint32),
        ("attach_type", ctypes.c_uint32),
        ("query_flags", ctypes.c_uint32),
        ("attach_flags", ctypes.c_uint32),
        ("ids", ctypes.c_uint64),
        ("count", ctypes.c_uint32),
    )


class _ById(ctypes.Structure):
    _fields_ = (("id", ctypes.c_uint32), ("next", ctypes.c_uint32), ("flags", ctypes.c_uint32))


class _InfoByFd(ctypes.Structure):
    _fields_ = (("descriptor", ctypes.c_uint32), ("size", ctypes.c_uint32), ("info", ctypes.c_uint64))


class _Info(ctypes.Structure):
    """The head of `struct bpf_prog_info`, up to the name."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("tag", ctypes.c_uint8 * 8),
        ("jited_size", ctypes.c_uint32),
        ("translated_size", ctypes.c_uint32),
        ("jited", ctypes.c_uint64),
        ("translated", ctypes.c_uint64),
        ("load_time", ctypes.c_uint64),
        ("user", ctypes.c_uint32),
        ("map_count", ctypes.c_uint32),
        ("maps", ctypes.c_uint64),
        ("name", ctypes.c_char * 16),
    )


def load(instructions: bytes, name: str) -> int:
    """A descriptor of the program; CgroupError with the end of the verifier's log."""
    try:
        return _load(instructions, name, None)
    except OSError as error:
        log = ctypes.create_string_buffer(_LOG_SIZE)
        try:
            return _load(instructions, name, log)
        except OSError:
            said = "; ".join(log.value.decode("utf-8", "replace").strip().splitlines()[-4:])
            reason = f"{error.strerror}{f' ({said})' if said else _hint(error)}"
            raise CgroupError(f"Cannot load a program for device rules: {reason}") from error


def attach(cgroup: int, program: int, *, replaced: int | None = None) -> None:
    """Beside the programs of others, or in one step in the place of `replaced`; OSError."""
    flags = _ALLOW_MULTI | (0 if replaced is None else _REPLACE)
    _call(_PROG_ATTACH, _Attach(cgroup, program, _CGROUP_DEVICE, flags, replaced or 0))


def detach(cgroup: int, program: int) -> None:
    """Only this program; OSError."""
    _call(_PROG_DETACH, _Attach(cgroup, program, _CGROUP_DEVICE, 0, 0))


def query(cgroup: int) -> list[int]:
    """Ids of the programs that are attached to this very cgroup; OSError."""
    ids = (ctypes.c_uint32 * _IDS_MAX)()
    request = _Query(cgroup, _CGROUP_DEVICE, 0, 0, ctypes.addressof(ids), _IDS_MAX)
    _call(_PROG_QUERY, request)
    return list(ids[: request.count])


def open_program(number: int) -> int:
    """A descriptor of the program with this id; OSError, ENOENT if it is gone."""
    return _call(_PROG_GET_FD_BY_ID, _ById(number, 0, 0))


def name_of(program: int) -> str:
    """The name that it was loaded with; OSError."""
    info = _Info()
    _call(_OBJ_GET_INFO_BY_FD, _InfoByFd(program, ctypes.sizeof(info), ctypes.addressof(info)))
    return bytes(info.name).decode("utf-8", "replace")


def fault(path: str) -> str | None:
    """Why programs for devices cannot be used at the cgroup at `path`, and the remedy; None if they can."""
    if platform.machine() not in _NUMBERS:
        return f"device rules of cgroup version 2 are not known for {platform.machine()} machines: mount version 1"
    try:
        cgroup = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            query(cgroup)
            _probe(lambda: open_program(0), errno.ENOENT)
            _probe(lambda: attach(_NO_DESCRIPTOR, _NO_DESCRIPTOR, replaced=_NO_DESCRIPTOR), errno.EBADF)
        finally:
            os.close(cgroup)
    except OSError as error:
        return f"bpf(2) refuses programs for devices at {path} ({error.strerror}){_hint(error)}"
    return None


def _probe(call: Callable[[], object], expected: int) -> None:
    """A call that changes nothing: it fails so where the kernel knows it and lets us do it; else OSError."""
    try:
        call()
    except OSError as error:
        if error.errno != expected:
            raise


def _hint(error: OSError) -> str:
    if error.errno in (errno.EPERM, errno.EACCES):
        return (
            ": run as root with CAP_SYS_ADMIN (in a container: with all privileges), without a seccomp filter on "
            "bpf(2), with a higher `ulimit -l` if the kernel is older than 5.11"
        )
    if error.errno in (errno.ENOSYS, errno.EINVAL):
        return ": it needs a kernel built with CONFIG_BPF_SYSCALL and CONFIG_CGROUP_BPF, 5.6 or newer"
    return ""


def _load(instructions: bytes, name: str, log: "ctypes.Array[ctypes.c_char] | None") -> int:
    code = ctypes.create_string_buffer(instructions, len(instructions))
    license_ = ctypes.create_string_buffer(b"Apache 2.0")
    request = _Load(
        type=_PROG_TYPE_CGROUP_DEVICE,
        count=len(instructions) // 8,
        instructions=ctypes.addressof(code),
        license=ctypes.addressof(license_),
        name=name.encode(),
    )
    if log is not None:
        request.log_level, request.log_size, request.log = 1, _LOG_SIZE, ctypes.addressof(log)
    return _call(_PROG_LOAD, request)


def _call(command: int, request: ctypes.Structure) -> int:
    """EAGAIN is answered when a signal came while a program was verified: then again, a few times."""
    syscall = _syscall()
    for _ in range(_RETRIES):
        result: int = syscall(_NUMBERS[platform.machine()], command, ctypes.byref(request), ctypes.sizeof(request))
        if result >= 0:
            return result
        number = ctypes.get_errno()
        if number != errno.EAGAIN:
            break
    raise OSError(number, os.strerror(number))


def _syscall() -> Callable[..., int]:
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint)
    function.restype = ctypes.c_long
    return function
