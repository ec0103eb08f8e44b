"""Secrets in messages: of variables, of volumes, and the docker configs of images."""

from typing import TypeVar

from google.protobuf.message import Message

from tfmesos.wire import mesos_pb2
from tfmesos.wire._fields import is_map, is_repeated

M = TypeVar("M", bound=Message)


def conceal(message: Message) -> None:
    """Take the values of all secrets out of a message that is to be shown; that there are secrets stays."""
    if isinstance(message, mesos_pb2.Secret):
        if message.HasField("value"):
            message.value.data = b""
        return
    for field, value in message.ListFields():
        if is_map(field):
            continue  # limits: numbers only
        for part in value if is_repeated(field) else (value,):
            if isinstance(part, Message):
                conceal(part)


def concealed(message: M) -> M:
    """A copy to be shown."""
    copy = type(message)()
    copy.CopyFrom(message)
    conceal(copy)
    return copy
