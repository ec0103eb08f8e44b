"""Mesos messages: generated modules (`*_pb2`), Mesos-flavoured JSON, RecordIO, names. No I/O."""

from tfmesos.wire.decoding import decode
from tfmesos.wire.errors import DecodeError, JsonError, JsonSyntaxError, RecordIOError
from tfmesos.wire.recordio import RecordDecoder, encode_record

__all__ = [
    "DecodeError",
    "JsonError",
    "JsonSyntaxError",
    "RecordDecoder",
    "RecordIOError",
    "decode",
    "encode_record",
]
