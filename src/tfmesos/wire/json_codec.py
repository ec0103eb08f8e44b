"""Mesos' JSON for protobuf messages, both ways. It is not protobuf's own JSON mapping (spec: wire-protobuf A.2)."""

from tfmesos.wire._json_reading import message_from_json, missing_fields
from tfmesos.wire._json_writing import dumps, message_to_dict, message_to_json
from tfmesos.wire.errors import JsonError

__all__ = ["JsonError", "dumps", "message_from_json", "message_to_dict", "message_to_json", "missing_fields"]
