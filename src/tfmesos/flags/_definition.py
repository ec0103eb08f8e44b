"""What a flag is: a field of a frozen dataclass whose metadata says how to read, show and explain it."""

import dataclasses
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfmesos.flags._quantities import format_bytes, format_duration, parse_bytes, parse_duration
from tfmesos.flags.errors import FlagError

_KEY = "tfmesos.flag"
_SHOWN_BY: dict[Callable[[str], Any], Callable[[Any], str]] = {
    parse_duration: format_duration,
    parse_bytes: format_bytes,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag of a program, ready to be parsed and printed."""

    name: str
    help: str
    default: Any
    parse: Callable[[str], Any]
    show: Callable[[Any], str]
    aliases: tuple[str, ...]
    is_boolean: bool
    is_path: bool
    is_json: bool
    secret: bool
    metavar: str

    @property
    def is_required(self) -> bool:
        """Whether the user has to give it."""
        return self.default is dataclasses.MISSING


def flag(
    default: Any = dataclasses.MISSING,
    *,
    help: str,
    parse: Callable[[str], Any] | None = None,
    show: Callable[[Any], str] | None = None,
    aliases: tuple[str, ...] = (),
    secret: bool = False,
    metavar: str | None = None,
    json: bool = False,
) -> Any:
    """A dataclass field that is a flag named like the field; without `default` it is required.

    `parse` turns the text into the value (raise FlagError or ValueError); without it the annotation decides: bool, int,
    float, str, Path, each also `| None`. `parse_duration` and `parse_bytes` bring their own `show`. A value `file:///p`
    is replaced by the file's content unless the annotation is a Path; with `json=True` a bare absolute path is read
    too. `secret` values are left out of `flag_texts`.
    """
    metadata = {
        _KEY: {
            "help": help,
            "parse": parse,
            "show": show,
            "aliases": aliases,
            "secret": secret,
            "metavar": metavar,
            "json": json,
        }
    }
    return dataclasses.field(default=default, metadata=metadata)


def flags_of(cls: type) -> tuple[Flag, ...]:
    """The flags of a dataclass in the order of its fields; fields not made by `flag` are not flags."""
    hints = typing.get_type_hints(cls)
    return tuple(
        _build(field, hints[field.name], field.metadata[_KEY])
        for field in dataclasses.fields(cls)
        if _KEY in field.metadata
    )


def _build(field: dataclasses.Field[Any], hint: Any, given: dict[str, Any]) -> Flag:
    kind = _kind(hint)
    parse = given["parse"]
    return Flag(
        name=field.name,
        help=given["help"],
        default=field.default,
        parse=parse or _PARSERS.get(kind, str),
        show=given["show"] or _SHOWN_BY.get(parse) or _show,
        aliases=given["aliases"],
        is_boolean=kind is bool and parse is None,
        is_path=kind is Path,
        is_json=given["json"],
        secret=given["secret"],
        metavar=given["metavar"] or "VALUE",
    )


def _kind(hint: Any) -> Any:
    """The annotation without `| None`."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else str
    return hint


def _parse_boolean(text: str) -> bool:
    if text in ("true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise FlagError("Expecting a boolean (e.g., true or false)")


def _parse_integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise FlagError(f"Failed to convert '{text}' to number") from None


def _parse_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise FlagError(f"Failed to convert '{text}' to number") from None


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_PARSERS: dict[Any, Callable[[str], Any]] = {
    bool: _parse_boolean,
    int: _parse_integer,
    float: _parse_float,
    Path: Path,
}
