"""An operation of an ACCEPT that starts no task: what it names must make sense, whether or not the master has it."""

from tfmesos.master.validation.executors import kinds_error
from tfmesos.resources import Resources, ResourcesError
from tfmesos.wire import mesos_pb2


def operation_error(operation: mesos_pb2.Offer.Operation) -> str | None:
    """What is wrong with the resources of a RESERVE or UNRESERVE; None for every other operation."""
    resources = (*operation.reserve.resources, *operation.unreserve.resources)
    try:
        Resources.from_proto(resources)
    except ResourcesError as error:
        return f"Invalid resources: {error}"
    text = kinds_error(resources)
    return f"Invalid resources: {text}" if text else None
