"""What the core's tests are made of."""

from itertools import count

from tfmesos.executors.default.core import Core
from tfmesos.executors.default.moves import Subscribed
from tfmesos.wire import agent_pb2, mesos_pb2

PARENT = mesos_pb2.ContainerID(value="parent")
KILLING = mesos_pb2.FrameworkInfo.Capability.TASK_KILLING_STATE
EXIT_0, EXIT_3 = 0, 3 << 8


def build_core(*, tells_killing: bool = True) -> Core:
    numbers = count(1)
    core = Core(ip="10.0.0.1", new_id=lambda: f"c{next(numbers)}")
    framework = mesos_pb2.FrameworkInfo(user="u", name="n")
    if tells_killing:
        framework.capabilities.add(type=KILLING)
    core.handle(Subscribed(PARENT, framework), 0)
    return core


def task(id_: str, **fields: object) -> mesos_pb2.TaskInfo:
    info = mesos_pb2.TaskInfo(name=id_, task_id=mesos_pb2.TaskID(value=id_), **fields)  # type: ignore[arg-type]
    info.command.value = "x"
    return info


def result(wait_status: int, **fields: object) -> agent_pb2.Response.WaitContainer:
    return agent_pb2.Response.WaitContainer(exit_status=wait_status, **fields)  # type: ignore[arg-type]
