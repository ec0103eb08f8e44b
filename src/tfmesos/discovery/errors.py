"""What can be wrong with the name of a master.

MasterAddressError   the text names no master (exit status 2)
"""

from tfmesos.errors import TfmesosError


class MasterAddressError(TfmesosError):
    """The text names no master; says what is allowed."""

    exit_status = 2

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"master address {text!r}: {why}")
        self.text = text
