"""A ProcessSpec as what goes to the supervisor."""

import os
from collections.abc import Mapping

from tfmesos.supervision._frames import Program
from tfmesos.supervision.errors import SupervisionError
from tfmesos.supervision.spec import ProcessSpec, Starter


def to_program(spec: ProcessSpec, *, has_terminal: bool) -> Program:
    """The same in bytes; SupervisionError for what no program can be given."""
    if (spec.detached or spec.console) and not spec.record_dir:
        raise SupervisionError(f"{spec.id!r}: a detached program and one with a console need a record_dir")
    program = Program()
    executable = "".join(spec.argv[:1]) if spec.executable is None else spec.executable
    program.executable = _bytes("executable", executable)
    program.argv = [_bytes(f"argument {index}", argument) for index, argument in enumerate(spec.argv)]
    program.environment = [] if spec.starter else _environment(spec.environment)
    program.directory = _bytes("directory", spec.directory)
    program.stdout = b"" if has_terminal else _bytes("stdout", spec.stdout)
    program.stderr = b"" if has_terminal else _bytes("stderr", spec.stderr)
    program.uid, program.gid, program.groups = spec.uid, spec.gid, list(spec.groups)
    program.grace_s = spec.grace_s
    program.cgroups = [_bytes("cgroup", path) for path in spec.cgroups]
    program.cgroup_directories = [_bytes("cgroup", path) for path in spec.cgroup_directories]
    program.starter = _starter(spec.starter) if spec.starter else []
    program.epilogue = [_bytes("epilogue", argument) for argument in spec.epilogue]
    _add_options(program, spec)
    return program


def _starter(starter: Starter) -> list[bytes]:
    texts = (starter.pid_file, starter.log_file, starter.console_socket or "", *starter.argv)
    return [_bytes("starter", text) for text in texts]


def _add_options(program: Program, spec: ProcessSpec) -> None:
    if spec.detached:
        program.recovery_timeout_s = spec.recovery_timeout_s
    if spec.console:
        program.console = int(spec.console.tty), spec.console.rows, spec.console.columns
    if spec.log_limit:
        program.log_limit = spec.log_limit.max_bytes, spec.log_limit.max_files


def _environment(environment: Mapping[str, str]) -> list[bytes]:
    for name in environment:
        if not name or "=" in name:
            raise SupervisionError(f"environment name {name!r}: must not be empty or contain '='")
    return [_bytes(f"environment variable {name!r}", f"{name}={value}") for name, value in environment.items()]


def _bytes(what: str, text: str) -> bytes:
    """Texts may be secrets, so an error names only what it is."""
    try:
        data = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise SupervisionError(f"{what}: cannot be encoded: {error.reason}") from error
    if b"\0" in data:
        raise SupervisionError(f"{what}: must not contain a NUL character")
    return data
