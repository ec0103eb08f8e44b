"""Mesos' flag grammar for frozen dataclasses: `--name=value`, `MESOS_NAME`, help, reference. Standard library only."""

from tfmesos.flags._definition import flag
from tfmesos.flags._loading import load_flags, wants, wants_help, wants_version
from tfmesos.flags._pages import flag_texts, reference_page, usage
from tfmesos.flags._quantities import format_bytes, format_duration, parse_bytes, parse_duration
from tfmesos.flags.errors import FlagError

__all__ = [
    "FlagError",
    "flag",
    "flag_texts",
    "format_bytes",
    "format_duration",
    "load_flags",
    "parse_bytes",
    "parse_duration",
    "reference_page",
    "usage",
    "wants",
    "wants_help",
    "wants_version",
]
