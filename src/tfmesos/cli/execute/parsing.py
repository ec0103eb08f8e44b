"""JSON given on the command line."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from google.protobuf.message import Message

from tfmesos.cli.execute.errors import ExecuteError
from tfmesos.errors import TfmesosError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

__all__ = ["message_of", "unknown_fields"]

M = TypeVar("M", bound=Message)


def message_of(kind: type[M], text: str, flag: str) -> M:
    """The message in a flag's value. Raises `ExecuteError` naming the flag."""
    from tfmesos.wire.json_codec import message_from_json

    try:
        return message_from_json(kind, text)
    except TfmesosError as error:
        is_json = text.lstrip().startswith("{")
        hint = "" if is_json else f"; a file is named by its whole path: --{flag}=/path/to/file.json"
        raise ExecuteError(f"Failed to load flag '{flag}': {error}{hint}") from error


def unknown_fields(kind: type[Message], text: str) -> list[str]:
    """What of valid JSON the message has no field or no name for, each once. Mesos 1.11 says nothing.

    As `command.uris.valeu`, or `container.type=MESSOS`.
    """
    return list(dict.fromkeys(_unknown(cast("Descriptor", kind.DESCRIPTOR), json.loads(text), "")))


def _unknown(descriptor: "Descriptor", value: Any, prefix: str) -> Iterator[str]:
    if descriptor.GetOptions().map_entry or not isinstance(value, dict):
        return
    for name, inner in value.items():
        field = descriptor.fields_by_name.get(name)
        if field is None:
            yield prefix + name
            continue
        for item in inner if isinstance(inner, list) else [inner]:
            if field.message_type is not None:
                yield from _unknown(field.message_type, item, f"{prefix}{name}.")
            elif field.enum_type is not None and isinstance(item, str) and item not in field.enum_type.values_by_name:
                yield f"{prefix}{name}={item}"
