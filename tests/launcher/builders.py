"""Small builders that the launcher's tests share."""

from typing import TypeVar

from tfmesos.launcher.events import Action
from tfmesos.launcher.placement import Offer, TaskKey, Wish
from tfmesos.launcher.statuses import Status
from tfmesos.launcher.survey import AgentTotal
from tfmesos.resources import Resources, scalars


def offer(name: str, resources: str, agent: str | None = None) -> Offer:
    agent = agent or f"agent-{name}"
    return Offer(
        id=f"offer-{name}",
        agent_id=agent,
        host="10.0.0.1",
        hostname=f"host-{agent}",
        endpoint=("10.0.0.1", 5051),
        resources=Resources.parse(resources),
    )


def wishes(job: str = "worker", count: int = 1, *, cpus: float = 1, mem: float = 64, gpus: float = 0) -> list[Wish]:
    resources = scalars(cpus=cpus, mem=mem, gpus=gpus)
    return [Wish(key=TaskKey(job, index), resources=resources) for index in range(count)]


def total(
    name: str,
    *,
    cpus: int = 4,
    mem: int = 4096,
    gpus: int = 0,
    ports: int = 100,
    busy: bool = False,
    active: bool = True,
    reserved_elsewhere: bool = False,
) -> AgentTotal:
    usable = {"cpus": cpus * 1000, "mem": mem * 1000, "gpus": gpus * 1000, "ports": ports}
    return AgentTotal(
        id=name,
        hostname=name,
        active=active,
        usable=usable,
        free=dict.fromkeys(usable, 0) if busy else usable,
        has_gpus=gpus > 0,
        reserved_elsewhere=reserved_elsewhere,
    )


def status(task_id: str, state: str, message: str = "", *, source: str = "SOURCE_EXECUTOR", reason: str = "") -> Status:
    return Status(
        task_id=task_id, agent_id="agent-1", state=f"TASK_{state}", message=message, source=source, reason=reason
    )


A = TypeVar("A")


def only(actions: list[Action], kind: type[A]) -> list[A]:
    return [action for action in actions if isinstance(action, kind)]
