"""Reading flags from a command line and the environment (Mesos 1.11: stout's flags.hpp, texts included)."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tfmesos.flags._definition import Flag, flags_of
from tfmesos.flags.errors import FlagError

T = TypeVar("T")
_FILE = "file://"


def load_flags(cls: type[T], argv: Sequence[str], environ: Mapping[str, str] | None, *, prefix: str = "MESOS_") -> T:
    """The flags of `cls` from the words after the program's name and, unless it is None, the environment.

    The command line beats the environment; unknown variables and words that are not flags are ignored; `--` ends
    the flags. Raises FlagError with Mesos' text.
    """
    flags = flags_of(cls)
    given = _environment(flags, environ or {}, prefix)
    words = _command_line(argv)
    for name, _ in words:
        given.pop(name, None)
    by_name = {name: flag for flag in flags for name in (flag.name, *flag.aliases)}
    values: dict[str, Any] = {}
    used: dict[str, str] = {}
    for name, text in [*given.items(), *words]:
        flag, value_text = _resolve(by_name, name, text)
        if flag.name in used:
            raise FlagError(f"Flag '{flag.name}' is already loaded via name '{used[flag.name]}'")
        used[flag.name] = name
        values[flag.name] = _value(flag, value_text)
    for flag in flags:
        if flag.is_required and flag.name not in values:
            raise FlagError(f"Flag '{flag.name}' is required, but it was not provided")
    return cls(**values)


def wants_help(argv: Sequence[str]) -> bool:
    """Whether `--help` is among the flags (it wins over every other flag, wrong ones too)."""
    return wants(argv, "help")


def wants_version(argv: Sequence[str]) -> bool:
    """Whether `--version` is among the flags (looked at after `--help`)."""
    return wants(argv, "version")


def wants(argv: Sequence[str], name: str) -> bool:
    """Whether a boolean flag is among the words and true."""
    return any(given == name and text in (None, "", "true", "1") for given, text in _command_line(argv))


def _environment(flags: Sequence[Flag], environ: Mapping[str, str], prefix: str) -> dict[str, str | None]:
    names = [name for flag in flags for name in (flag.name, *flag.aliases)]
    return {name: environ[prefix + name.upper()] for name in names if prefix + name.upper() in environ}


def _command_line(argv: Sequence[str]) -> list[tuple[str, str | None]]:
    words: list[tuple[str, str | None]] = []
    for word in argv:
        if word == "--":
            break
        if word.startswith("--"):
            name, equals, text = word[2:].partition("=")
            words.append((name.lower(), text if equals else None))
    return words


def _resolve(by_name: Mapping[str, Flag], name: str, text: str | None) -> tuple[Flag, str]:
    """The flag that `name` (perhaps `no-name`) means and the text of its value."""
    if name in by_name:
        flag = by_name[name]
        if flag.is_boolean:
            return flag, text or "true"
        if text is None:
            raise FlagError(f"Failed to load non-boolean flag '{name}': Missing value")
        return flag, text
    positive = name.removeprefix("no-")
    if positive == name:
        raise FlagError(f"Failed to load unknown flag '{name}'")
    if positive not in by_name:
        raise FlagError(f"Failed to load unknown flag '{positive}' via '{name}'")
    flag = by_name[positive]
    if not flag.is_boolean:
        raise FlagError(f"Failed to load non-boolean flag '{positive}' via '{name}'")
    if text:
        raise FlagError(f"Failed to load boolean flag '{positive}' via '{name}' with value '{text}'")
    return flag, "false"


def _value(flag: Flag, text: str) -> Any:
    try:
        if not _is_utf8(text):  # it could be told to nobody: messages carry UTF-8 only
            raise FlagError("not UTF-8")
        return flag.parse(_fetch(flag, text))
    except (FlagError, ValueError) as error:
        shown = "its secret value" if flag.secret else f"value '{text}'"
        raise FlagError(f"Failed to load flag '{flag.name}': Failed to load {shown}: {error}") from error


def _is_utf8(text: str) -> bool:
    """Python keeps other bytes of a command line or of a variable as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _fetch(flag: Flag, text: str) -> str:
    """The text, or the content of the file it names."""
    if flag.is_path:
        return text.removeprefix(_FILE)
    if text.startswith(_FILE):
        return _read(text.removeprefix(_FILE))
    if flag.is_json and text.startswith("/"):
        return _read(text)
    return text


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise FlagError(f"Error reading file '{path}': {reason}") from error
