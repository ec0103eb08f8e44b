"""`tfrun`: runs a command as a distributed TensorFlow job."""

import sys
from contextlib import suppress

from tfmesos.cli.printing import NoReader, print_text
from tfmesos.errors import TfmesosError
from tfmesos.version import __version__

__all__ = ["main"]

_INTERRUPTED = 130


def main(argv: list[str] | None = None) -> int:
    """The program; returns its exit status."""
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except TfmesosError as error:
        print(f"tfrun: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return _INTERRUPTED


def _main(words: list[str]) -> int:
    """Each way imports what it needs."""
    if sys.platform != "linux":
        raise TfmesosError(f"TFMesos runs on Linux only, and this is {sys.platform}")
    from tfmesos.cli.run.options import help_text, load_options

    options = load_options(words)
    if options.help:
        return _print(help_text())
    if options.version:
        return _print(f"tfrun {__version__}\n")
    if options.self_test:
        from tfmesos.cli.run.self_test import self_test

        return self_test()
    from tfmesos.cli.run.app import dry_run, run

    return _print(f"{dry_run(options)}\n") if options.dry_run else run(options)


def _print(text: str) -> int:
    with suppress(NoReader):
        print_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
