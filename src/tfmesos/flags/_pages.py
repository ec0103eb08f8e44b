"""Flags as texts: the usage of a program, its reference page, and the values of a running one."""

import textwrap
from collections.abc import Mapping
from typing import Any

from tfmesos.flags._definition import Flag, flags_of

_COLUMN = 50
_WIDTH = 80
_NO_MODES: Mapping[str, str] = {}


def usage(cls: type, program: str, modes: Mapping[str, str] = _NO_MODES) -> str:
    """What `--help` prints: the program's line, then each flag in alphabetical order with its default.

    `modes`: name and text of further flags that, like `--help`, have the program do something else.
    """
    lines = [f"Usage: {program} [options]", ""]
    lines += _usage_entry("--[no-]help", "Prints this help message (default: false)")
    lines += _usage_entry("--[no-]version", "Show version and exit. (default: false)")
    for name, text in modes.items():
        lines += _usage_entry(f"--[no-]{name}", f"{text} (default: false)")
    for flag in sorted(flags_of(cls), key=lambda flag: flag.name):
        name = f"--[no-]{flag.name}" if flag.is_boolean else f"--{flag.name}={flag.metavar}"
        shown = _default(flag)
        suffix = " (required)" if flag.is_required else f" (default: {shown})" if shown else ""
        lines += _usage_entry(name, flag.help + suffix)
    return "\n".join(lines) + "\n"


def flag_texts(flags: Any) -> dict[str, str]:
    """Name and value of every flag that has a value, all as texts (Mesos 1.11: /flags); secrets are left out."""
    values = ((flag, getattr(flags, flag.name)) for flag in flags_of(type(flags)) if not flag.secret)
    return {flag.name: flag.show(value) for flag, value in values if value not in (None, ())}


def reference_page(cls: type, program: str) -> str:
    """A Markdown table of all flags for the documentation."""
    rows = [f"### `{program}`", "", "| flag | default | what it does |", "|---|---|---|"]
    for flag in flags_of(cls):
        names = f"`--{flag.name}`" + "".join(f" (also `--{alias}`)" for alias in flag.aliases)
        shown = _default(flag)
        default = "required" if flag.is_required else f"`{_cell(shown)}`" if shown else "–"
        rows.append(f"| {names} | {default} | {_cell(flag.help)} |")
    return "\n".join(rows) + "\n"


def _usage_entry(name: str, text: str) -> list[str]:
    words = textwrap.wrap(text, _WIDTH) or [""]
    head = f"  {name}"
    lines = [head.ljust(_COLUMN) + words[0]] if len(head) < _COLUMN else [head, " " * _COLUMN + words[0]]
    return lines + [" " * _COLUMN + line for line in words[1:]]


def _default(flag: Flag) -> str:
    return "" if flag.is_required or flag.default is None else flag.show(flag.default)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
