"""FetchError: a line that says why one URI could not be fetched."""

from tfmesos.errors import TfmesosError


class FetchError(TfmesosError):
    """A URI could not be fetched."""
