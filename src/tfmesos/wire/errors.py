"""Errors of wire.

TfmesosError
  DecodeError       bytes that are not the protobuf message they should be
  JsonError         a JSON body that is not the message it should be; the text is Mesos'
    JsonSyntaxError bytes that are no JSON
  BadBody           the body of a request that is no call; the text is Mesos'
  RecordIOError     a stream that is not RecordIO, or a record above the limit
"""

from tfmesos.errors import TfmesosError


class DecodeError(TfmesosError):
    """Bytes that are not the message they should be."""


class JsonError(TfmesosError):
    """JSON that does not make the message, in Mesos' words (`Missing required fields: framework_id`)."""


class JsonSyntaxError(JsonError):
    """Bytes that are no JSON at all: `syntax error at line 1 near: `."""


class BadBody(TfmesosError):
    """A body that is no call, in Mesos' words."""


class RecordIOError(TfmesosError):
    """A RecordIO stream that cannot be read on."""
