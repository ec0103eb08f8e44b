"""Between Mesos' messages and the launcher's own words."""

import logging
import socket

from tfmesos.launcher.blueprint import Program
from tfmesos.launcher.container_messages import add_container
from tfmesos.launcher.events import NewTask
from tfmesos.launcher.nvidia_plugin import Parameters
from tfmesos.launcher.options import RunOptions
from tfmesos.launcher.placement import Offer
from tfmesos.launcher.rules import MODERN, MesosRules
from tfmesos.launcher.statuses import Status
from tfmesos.launcher.user import current_user
from tfmesos.resources import Resources, ResourcesError
from tfmesos.wire import mesos_pb2
from tfmesos.wire.text import reason_name, source_name, state_name

log = logging.getLogger(__name__)

Capability = mesos_pb2.FrameworkInfo.Capability


def build_framework(options: RunOptions, rules: MesosRules = MODERN) -> mesos_pb2.FrameworkInfo:
    """GPU_RESOURCES is declared only by a job that wants GPUs: otherwise it would fill agents that have some."""
    wanted = [Capability.PARTITION_AWARE, Capability.TASK_KILLING_STATE, Capability.RESERVATION_REFINEMENT]
    if any(job.gpus for job in options.jobs):
        wanted.append(Capability.GPU_RESOURCES)
    return mesos_pb2.FrameworkInfo(
        user=options.user or current_user(),
        name=options.framework_name,
        role=options.role,
        checkpoint=options.checkpoint and not options.embedded,  # an embedded agent is never restarted
        hostname=socket.gethostname(),
        capabilities=[Capability(type=kind) for kind in wanted] if rules.has_capabilities else [],
    )


def read_offer(offer: mesos_pb2.Offer) -> Offer:
    """An offer. Tasks are reached at the address the agent has for its master, its name is for people.

    Resources that are not understood count as none: the offer is of no use, and is given back as any other.
    """
    address = offer.url.address
    usable = address.ip and address.ip not in ("0.0.0.0", "::")
    host = address.ip if usable else offer.hostname
    return Offer(
        id=offer.id.value,
        agent_id=offer.agent_id.value,
        host=host,
        hostname=offer.hostname,
        endpoint=(host, address.port or 5051),
        resources=_read_resources(offer),
    )


def _read_resources(offer: mesos_pb2.Offer) -> Resources:
    try:
        return Resources.from_proto(offer.resources).unallocated()
    except ResourcesError as error:
        log.warning("offer %s is not understood: %s", offer.id.value, error)
        return Resources()


def read_status(status: mesos_pb2.TaskStatus) -> Status:
    """A status update."""
    return Status(
        task_id=status.task_id.value,
        agent_id=status.agent_id.value,
        state=state_name(status.state),
        reason=reason_name(status.reason) if status.HasField("reason") else "",
        source=source_name(status.source) if status.HasField("source") else "",
        message=status.message,
        executor_id=status.executor_id.value,
    )


def build_task(
    task: NewTask,
    program: Program,
    options: RunOptions,
    grace_s: float,
    *,
    rules: MesosRules = MODERN,
    parameters: Parameters = (),
) -> mesos_pb2.TaskInfo:
    """A command task. `parameters` are further ones for docker's command line."""
    placed = task.placed
    info = mesos_pb2.TaskInfo(
        name=str(placed.key),
        task_id=mesos_pb2.TaskID(value=task.task_id),
        agent_id=mesos_pb2.AgentID(value=placed.agent_id),
        resources=placed.resources.to_proto("post" if rules.has_capabilities else "pre"),
        command=mesos_pb2.CommandInfo(shell=False, value=program.argv[0], arguments=program.argv),
    )
    for name, value in program.environment.items():
        info.command.environment.variables.add(name=name, type=mesos_pb2.Environment.Variable.VALUE, value=value)
    info.kill_policy.grace_period.nanoseconds = round(grace_s * 1e9)
    container = rules.applied_to(options.container)
    add_container(info, container, user=options.user or current_user(), parameters=parameters)
    return info
