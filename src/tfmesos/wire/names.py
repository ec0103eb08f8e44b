"""Names of messages on libprocess: Mesos' own packages instead of ours."""

import functools

from google.protobuf.message import Message

from tfmesos.wire import internal_pb2, scheduler_pb2

_OURS = "tfmesos.wire.v1."
_MESOS = "mesos."


def message_name(message: type[Message] | Message) -> str:
    """The libprocess name: `mesos.internal.PingSlaveMessage`, `mesos.scheduler.Call`."""
    full_name: str = message.DESCRIPTOR.full_name
    return _MESOS + full_name.removeprefix(_OURS)


@functools.cache
def message_class(name: str) -> type[Message] | None:
    """The class of a libprocess name, or None if no process of Mesos sends such a message."""
    module = {"mesos.internal": internal_pb2, "mesos.scheduler": scheduler_pb2}.get(name.rpartition(".")[0])
    found = getattr(module, name.rpartition(".")[2], None)
    return found if isinstance(found, type) and issubclass(found, Message) else None
