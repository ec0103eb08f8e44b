"""Options of a command line: `-w 2 -w2 -w=2 --nworker 2 --nworker=2`, switches, and a command that ends them.

Ours, because the standard library's argparse knows no two-letter short options beside one-letter ones (`-Cw1`, `-C X`)
and no `did you mean`, and takes longer to import than all of this program's help.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

from tfmesos.errors import TfmesosError

__all__ = ["Option", "UsageError", "option", "options_of", "parse_words"]

T = TypeVar("T")
_KEY = "tfmesos.option"


class UsageError(TfmesosError):
    """The command line cannot be understood; the text is one line."""

    exit_status = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. Without `metavar` it is a switch; with `is_list` it may come again and again."""

    dest: str
    names: tuple[str, ...]
    help: str
    metavar: str | None
    parse: Callable[[str], Any]
    is_list: bool
    is_required: bool


def option(
    *names: str,
    help: str,
    default: Any = MISSING,
    metavar: str | None = None,
    parse: Callable[[str], Any] = str,
    is_list: bool = False,
) -> Any:
    """A dataclass field that is an option; required without `default`. `parse` raises ValueError with what is wrong."""
    return field(default=default, metadata={_KEY: (names, help, metavar, parse, is_list)})


def options_of(cls: type) -> tuple[Option, ...]:
    """The options of a dataclass in the order of its fields."""
    found = []
    for each in fields(cls):
        if _KEY in each.metadata:
            names, help_, metavar, parse, is_list = each.metadata[_KEY]
            is_required = each.default is MISSING
            found.append(
                Option(
                    dest=each.name,
                    names=names,
                    help=help_,
                    metavar=metavar,
                    parse=parse,
                    is_list=is_list,
                    is_required=is_required,
                )
            )
    return tuple(found)


def parse_words(options: Sequence[Option], words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The values by `dest`, and the command: all after `--`, or from the first word that is none. Raises UsageError."""
    values: dict[str, Any] = {}
    rest = iter(words)
    command: list[str] = []
    for word in rest:
        if word == "--" or not word.startswith("-") or word == "-":
            command = [*([] if word == "--" else [word]), *rest]
            break
        for found, name, text in _read(options, word, rest):
            _store(values, found, name, text)
    missing = [found for found in options if found.is_required and found.dest not in values]
    if missing:
        raise UsageError(f"{missing[0].names[0]} is missing: {missing[0].help}")
    return values, command


def _read(options: Sequence[Option], word: str, rest: Iterator[str]) -> Iterator[tuple[Option, str, str | None]]:
    """The options in one word: `--name[=value]`, `-n[value]`, or several switches in one as in `-fv`."""
    by_name = {_key(name): each for each in options for name in each.names}
    name, equals, text = word.partition("=")
    name = _key(name)
    if name in by_name:
        yield from _whole(by_name[name], name, text if equals else None, rest)
        return
    short = "" if word.startswith("--") else _longest_short(by_name, word)
    if not short:
        raise UsageError(f"unknown option '{word}'{_suggestion(by_name, name)}")
    found, remainder = by_name[short], word[len(short) :]
    if found.metavar is not None:
        yield found, short, remainder.removeprefix("=")
        return
    yield found, short, None
    yield from _read(options, f"-{remainder}", rest)


def _whole(found: Option, name: str, text: str | None, rest: Iterator[str]) -> Iterator[tuple[Option, str, str | None]]:
    if found.metavar is None and text is not None:
        raise UsageError(f"{name} takes no value, but '{text}' was given")
    if found.metavar is not None and text is None:
        text = next(rest, None)
        if text is None or text == "--":
            raise UsageError(f"{name} needs a value: {name} {found.metavar}")
    yield found, name, text


def _key(name: str) -> str:
    """`--extra_config` and `--extra-config` are one."""
    return name.replace("_", "-")


def _longest_short(by_name: dict[str, Option], word: str) -> str:
    """The longest short option that begins the word."""
    return next((word[:length] for length in (3, 2) if word[:length] in by_name), "")


def _store(values: dict[str, Any], found: Option, name: str, text: str | None) -> None:
    if text is None:
        values[found.dest] = True
        return
    try:
        value = found.parse(text)
    except ValueError as error:
        raise UsageError(f"{name} {_shown(text)}: {error}") from error
    values[found.dest] = (*values.get(found.dest, ()), value) if found.is_list else value


def _shown(text: str) -> str:
    return repr(text) if not text or not text.isprintable() or " " in text else text


def _suggestion(by_name: dict[str, Option], name: str) -> str:
    from difflib import get_close_matches

    bare = {each.lstrip("-"): each for each in by_name}  # the dashes are alike in all
    last = name.replace("_", "-").rpartition("-")[2]  # --docker-image is --image
    close = [last] if f"--{last}" in by_name else get_close_matches(name.lstrip("-"), bare, n=1, cutoff=0.6)
    return f"; did you mean {bare[close[0]]}?" if close else ""
