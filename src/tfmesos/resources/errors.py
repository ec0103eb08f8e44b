"""Errors of resources.

TfmesosError
  ResourcesError    a text or message that is not a resource, or a subtraction of what is not there
"""

from tfmesos.errors import TfmesosError


class ResourcesError(TfmesosError):
    """Resources that make no sense; the text is Mesos' own where Mesos has one."""
