"""Errors of wire.

TfmesosError
  JsonError         a JSON body that is not the message it should be; the text is Mesos'
  RecordIOError     a stream that is not RecordIO, or a record above the limit
"""

from tfmesos.errors import TfmesosError


class JsonError(TfmesosError):
    """JSON that does not make the message, in Mesos' words (`Missing required fields: framework_id`)."""


class RecordIOError(TfmesosError):
    """A RecordIO stream that cannot be read on."""
