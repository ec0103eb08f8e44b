"""What can go wrong between a client and Mesos.

ClientError
  MasterUnreachable         no master could be subscribed to in time (exit status 69)
    NotAMaster              what answers there is none
  SubscriptionRejected      the master (or agent) answered SUBSCRIBE with an error status
  CallRejected              the master (or agent) answered a call with an error status; the text is shown as is
  ExecutorEnvironmentError  a variable that an agent sets for its executors is missing or wrong
  NotSubscribed             the call needs a subscription and there is none, or it was lost before the answer
"""

from tfmesos.discovery import Stranger, stranger_text
from tfmesos.errors import TfmesosError
from tfmesos.transport import Address


class ClientError(TfmesosError):
    """The root of this room's errors."""


class MasterUnreachable(ClientError):
    """No master could be subscribed to in time."""

    exit_status = 69

    def __init__(self, address: Address | None, why: str) -> None:
        super().__init__(f"no master reached{f' at {address}' if address else ''}: {why}")
        self.address = address


class NotAMaster(MasterUnreachable):
    """What answers at the master's address is none."""

    def __init__(self, address: Address, stranger: Stranger) -> None:
        ClientError.__init__(self, stranger_text(address, stranger))
        self.address = address
        self.stranger = stranger


class SubscriptionRejected(ClientError):
    """The master (or agent) answered SUBSCRIBE with an error status."""

    def __init__(self, message: str, status: int, who: str = "master") -> None:
        super().__init__(f"the {who} refused the subscription ({status}): {message or 'without a text'}")
        self.message = message
        self.status = status


class CallRejected(ClientError):
    """A call was answered with an error status; `body` is the answer's text."""

    def __init__(self, call: str, status: int, body: str) -> None:
        super().__init__(f"{call} refused ({status}): {body or 'without a text'}")
        self.call = call
        self.status = status
        self.body = body


class ExecutorEnvironmentError(ClientError):
    """A variable that an agent sets for its executors is missing or wrong."""

    exit_status = 2

    def __init__(self, variable: str, why: str) -> None:
        super().__init__(f"cannot run as an executor: {variable}: {why}")
        self.variable = variable


class NotSubscribed(ClientError):
    """The call needs the subscription it was made under, and that is gone."""

    def __init__(self, call: str) -> None:
        super().__init__(f"{call} not sent or not answered: the subscription was lost")
        self.call = call
