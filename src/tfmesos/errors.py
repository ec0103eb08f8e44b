"""The root of all errors of this project.

TfmesosError                    every error that a user can cause or meet; its text says what to do next
  …                             each room draws its own small tree in its own errors.py
"""


class TfmesosError(Exception):
    """An error with a text for the user; command-line programs print it in one line and end with `exit_status`."""

    exit_status: int = 1
