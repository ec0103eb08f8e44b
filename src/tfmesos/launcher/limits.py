"""What Linux can hand to a program: refused before submission, not found out on the agent."""

from collections.abc import Mapping, Sequence

from tfmesos.launcher.errors import JobSpecError

STRING_LIMIT = 32 * 4096 - 1
"""Bytes of one argument or one NAME=value, without its NUL (Linux: MAX_ARG_STRLEN is 32 pages)."""

TOTAL_LIMIT = 2 * 1024 * 1024 - 64 * 1024
"""Bytes of all of them together: a quarter of the usual stack limit of 8 MiB (execve(2)), less what the agent adds."""


def check_variable(name: str, value: str) -> None:
    """Refuse a variable that no program can be given. Raises JobSpecError."""
    size = len(name.encode()) + 1 + len(value.encode())
    if size > STRING_LIMIT:
        raise JobSpecError(f"the variable {name} has {size:,} bytes with its name; Linux allows {STRING_LIMIT:,}")


def check_program(task: str, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
    """Refuse arguments and variables that Linux cannot hand over. Raises JobSpecError."""
    total = 0
    for number, argument in enumerate(arguments):
        size = len(argument.encode())
        if size > STRING_LIMIT:
            raise JobSpecError(f"{task}: argument {number} has {size:,} bytes; Linux allows {STRING_LIMIT:,}")
        total += size + 1
    for name, value in variables.items():
        check_variable(name, value)
        total += len(name.encode()) + len(value.encode()) + 2
    if total > TOTAL_LIMIT:
        text = f"{task}: arguments and environment have {total:,} bytes together"
        raise JobSpecError(f"{text}; Linux allows about {TOTAL_LIMIT:,}")
