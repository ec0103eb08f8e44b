"""Standard output, which may be closed, full, or a reader that goes away."""

import sys

from tfmesos.errors import TfmesosError

__all__ = ["NoReader", "OutputLost", "print_text"]


class OutputLost(TfmesosError):
    """What was to be printed could not be."""

    exit_status = 1


class NoReader(OutputLost):
    """Its reader went away, as in `… | head`: nothing to be told, and nobody to tell it to."""


def print_text(text: str) -> None:
    """Print at once. Raises NoReader, OutputLost."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError as error:
        sys.stdout = None  # nothing is left to be written at exit
        raise NoReader("nobody reads standard output") from error
    except OSError as error:
        sys.stdout = None
        raise OutputLost(f"cannot write to standard output: {error.strerror}") from error
