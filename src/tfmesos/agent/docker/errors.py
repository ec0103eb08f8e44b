"""What can go wrong with the Docker engine.

DockerError             a command failed, or its answer cannot be read
  DockerUnreachable     no engine answers
    DockerHangs         it is there, and may yet do what it was asked for
  NoSuchObject          there is no such container or image
"""

from tfmesos.errors import TfmesosError


class DockerError(TfmesosError):
    """A command failed, or its answer cannot be read; the text is what the client said."""


class DockerUnreachable(DockerError):
    """No engine answers; one may later, and what it runs may run on meanwhile."""


class DockerHangs(DockerUnreachable):
    """It is there, and may yet do what it was asked for."""


class NoSuchObject(DockerError):
    """There is no such container or image."""
