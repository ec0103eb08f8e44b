"""What can go wrong with the Docker engine.

DockerError             a command failed, or its answer cannot be read
  DockerUnreachable     no engine answers: it is down, or hangs
  NoSuchObject          there is no such container or image
"""

from tfmesos.errors import TfmesosError


class DockerError(TfmesosError):
    """A command failed, or its answer cannot be read; the text is what the client said."""


class DockerUnreachable(DockerError):
    """No engine answers; it may later, and what it runs may run on meanwhile."""


class NoSuchObject(DockerError):
    """There is no such container or image."""
