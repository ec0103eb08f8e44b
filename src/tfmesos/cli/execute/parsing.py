"""JSON given on the command line."""

from typing import TypeVar

from google.protobuf.message import Message

from tfmesos.cli.execute.errors import ExecuteError
from tfmesos.errors import TfmesosError

__all__ = ["message_of"]

M = TypeVar("M", bound=Message)


def message_of(kind: type[M], text: str, flag: str) -> M:
    """The message in a flag's value. Raises `ExecuteError` naming the flag."""
    from tfmesos.wire.json_codec import message_from_json

    try:
        return message_from_json(kind, text)
    except TfmesosError as error:
        raise ExecuteError(f"Failed to load flag '{flag}': {error}") from error
