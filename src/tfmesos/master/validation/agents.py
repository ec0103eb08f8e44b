"""What agents say of themselves and of what runs on them: ids and roles (Mesos 1.11 ignores such a message)."""

from collections.abc import Iterable, Iterator
from itertools import chain

from tfmesos.master.validation.frameworks import filters_error, framework_roles
from tfmesos.master.validation.names import id_error, role_error
from tfmesos.wire import internal_pb2, mesos_pb2


def agent_error(agent: mesos_pb2.AgentInfo) -> str | None:
    """Why an agent may not reserve for these roles; None if it may."""
    return _first_error(map(role_error, set(_roles_of(agent.resources))))


def return_error(message: internal_pb2.ReregisterSlaveMessage) -> str | None:
    """What is wrong with an id, a framework or a role that a returning agent tells; None if nothing is."""
    ids = [message.slave.id.value]
    ids += [framework.id.value for framework in message.frameworks]
    ids += [executor.executor_id.value for executor in message.executor_infos]
    for task in message.tasks:
        ids += [task.task_id.value, task.framework_id.value]
    roles = set(chain.from_iterable(map(framework_roles, message.frameworks)))
    for task in message.tasks:
        roles.update(_roles_of(task.resources))
    for executor in message.executor_infos:
        roles.update(_roles_of(executor.resources))
    return _first_error(chain(map(id_error, ids), map(role_error, roles), map(filters_error, message.frameworks)))


def _roles_of(resources: Iterable[mesos_pb2.Resource]) -> Iterator[str]:
    for resource in resources:
        yield resource.role
        yield resource.allocation_info.role or "*"
        for reservation in resource.reservations:
            yield reservation.role or "*"


def _first_error(errors: Iterable[str | None]) -> str | None:
    return next(filter(None, errors), None)
