"""Mesos messages: generated modules (`*_pb2`), Mesos-flavoured JSON, RecordIO, names. No I/O."""

from tfmesos.wire.errors import JsonError, JsonSyntaxError, RecordIOError
from tfmesos.wire.recordio import RecordDecoder, encode_record

__all__ = ["JsonError", "JsonSyntaxError", "RecordDecoder", "RecordIOError", "encode_record"]
