"""Protobuf or JSON: what a request brings and what its answer shall be (Mesos 1.11: src/common/http.cpp)."""

from typing import TypeVar

from google.protobuf.message import Message

from tfmesos.wire.decoding import decode
from tfmesos.wire.errors import BadBody, DecodeError, JsonError, JsonSyntaxError
from tfmesos.wire.json_codec import message_from_json, message_to_json

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
M = TypeVar("M", bound=Message)


def encode(message: Message, media: str) -> bytes:
    """The message in this medium."""
    return message.SerializeToString() if media == PROTOBUF else message_to_json(message)


def read_call(cls: type[M], media: str, body: bytes) -> M:
    """The call in a body; raises BadBody."""
    if media == PROTOBUF:
        try:
            call = decode(cls, body)
        except DecodeError:
            raise BadBody("Failed to parse body into Call protobuf") from None
        if not call.IsInitialized():
            raise BadBody("Failed to parse body into Call protobuf")
        return call
    try:
        return message_from_json(cls, body)
    except JsonSyntaxError as error:
        raise BadBody(f"Failed to parse body into JSON: {error}") from None
    except JsonError as error:
        raise BadBody(f"Failed to convert JSON into Call protobuf: {error}") from None


def chosen_media(accept: str | None) -> str | None:
    """The medium of the answer, JSON if both will do; None if neither will."""
    return next((media for media in (JSON, PROTOBUF) if is_accepted(media, accept)), None)


def is_accepted(media: str, accept: str | None) -> bool:
    """Whether an Accept header allows this medium; no header allows everything."""
    if accept is None:
        return True
    verdicts = [_verdict(media, item) for item in accept.split(",")]
    return True in verdicts and False not in verdicts


def _verdict(media: str, item: str) -> bool | None:
    """Allowed, excluded (`q=0`), or not spoken of."""
    name, *parameters = (part.strip() for part in item.split(";"))
    kind, _, subtype = name.partition("/")
    wanted_kind, _, wanted_subtype = media.partition("/")
    if kind not in ("*", wanted_kind) or subtype not in ("*", wanted_subtype):
        return None
    return not any(_is_zero_weight(parameter) for parameter in parameters)


def _is_zero_weight(parameter: str) -> bool:
    name, _, value = parameter.replace(" ", "").partition("=")
    return name == "q" and value.strip("0") in ("", ".")
