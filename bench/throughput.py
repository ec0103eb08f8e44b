"""How many tasks of 0.01 cpus running `true` end in a second: one agent, one subscription, 1,000 tasks.

The clock runs from the first ACCEPT to the last acknowledged TASK_FINISHED.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import dataclass, field

import daemons
from tables import Row, print_table

from tfmesos.client import SchedulerClient
from tfmesos.discovery import build_detector
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2, scheduler_pb2

# A stock master and agent, measured through the same API.
STOCK_TASKS_PER_S = 17.0
WANTED_TASKS_PER_S = 170.0
CORES = 2
ROUNDS = 2
ONE_TASK = Resources.parse("cpus:0.01;mem:32")


@dataclass
class Count:
    """Tasks still to launch, and those that have ended."""

    waiting: int
    wanted: int
    finished: int = 0
    first_accept: float | None = None
    others: list[str] = field(default_factory=list)


def build_task(number: int, agent_id: mesos_pb2.AgentID) -> mesos_pb2.TaskInfo:
    task = mesos_pb2.TaskInfo(name="true", agent_id=agent_id)
    task.task_id.value = f"task-{number}"
    task.resources.extend(ONE_TASK.to_proto())
    task.command.value = "true"
    return task


async def use_offer(client: SchedulerClient, offer: mesos_pb2.Offer, count: Count) -> None:
    free = Resources.from_proto(offer.resources)
    fitting = min(free.scalar("cpus") // ONE_TASK.scalar("cpus"), free.scalar("mem") // ONE_TASK.scalar("mem"))
    number = min(count.waiting, fitting)
    if number == 0:
        await client.decline([offer.id], 5.0)
        return
    operation = mesos_pb2.Offer.Operation(type=mesos_pb2.Offer.Operation.LAUNCH)
    for index in range(number):
        operation.launch.task_infos.append(build_task(count.waiting - index, offer.agent_id))
    count.waiting -= number
    count.first_accept = count.first_accept or time.perf_counter()
    await client.accept([offer.id], [operation])


async def use_update(
    client: SchedulerClient, status: mesos_pb2.TaskStatus, count: Count, calls: asyncio.TaskGroup
) -> None:
    if status.state in (mesos_pb2.TASK_STARTING, mesos_pb2.TASK_RUNNING):
        calls.create_task(client.acknowledge(status))  # pipelined: nothing here waits for its answer
        return
    await client.acknowledge(status)
    if status.state == mesos_pb2.TASK_FINISHED:
        count.finished += 1
    else:
        count.others.append(f"{status.task_id.value}: {mesos_pb2.TaskState.Name(status.state)} {status.message}")


async def tasks_per_s(master: str, number: int, *, checkpoint: bool = False) -> float:
    """Run the tasks; raises SystemExit when one did not finish well."""
    count = Count(waiting=number, wanted=number)
    framework = mesos_pb2.FrameworkInfo(user="root", name="throughput", checkpoint=checkpoint)
    framework.roles.append("*")
    framework.capabilities.add(type=mesos_pb2.FrameworkInfo.Capability.MULTI_ROLE)
    async with SchedulerClient(build_detector(master), framework) as client, asyncio.TaskGroup() as calls:
        async for event in client:
            if event.type == scheduler_pb2.Event.OFFERS:
                for offer in event.offers.offers:
                    await use_offer(client, offer, count)
            elif event.type == scheduler_pb2.Event.UPDATE:
                await use_update(client, event.update.status, count, calls)
            elif event.type == scheduler_pb2.Event.ERROR:
                raise SystemExit(event.error.message)
            if count.finished + len(count.others) == count.wanted:
                break
        took_s = time.perf_counter() - (count.first_accept or 0.0)
        await client.teardown()
    if count.others:
        raise SystemExit(f"{len(count.others)} tasks did not finish; the first: {count.others[0]}")
    return number / took_s


def cpu_s(pair: daemons.Daemons) -> float:
    """Seconds that master, agent and all that lives below them have computed."""
    living = [pid for process in pair.processes for pid in daemons.descendants(process.pid)]
    return sum(daemons.cpu_s(pid) for pid in living)


def best(master: str, tasks: int) -> float:
    return max(asyncio.run(tasks_per_s(master, tasks)) for _ in range(ROUNDS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000, help="number of tasks (1000)")
    number = parser.parse_args().tasks
    with daemons.running() as ours, daemons.running(stock_master=True) as stock:
        before = cpu_s(ours)
        on_ours = best(ours.master, number)
        cpu_ms = (cpu_s(ours) - before) * 1000 / (number * ROUNDS)
        on_stock = best(stock.master, number)
    measure = f"{number} tasks `true`, our master and agent"
    goals = [
        ("stock Mesos 1.11 throughout (documented)", STOCK_TASKS_PER_S, 0.1),
        ("the goal", WANTED_TASKS_PER_S, 1.0),
        ("stock master, our agent", on_stock, 1.2),
    ]
    rows = [
        Row(
            measure=measure,
            ours=on_ours,
            reference=value,
            reference_name=name,
            unit="tasks/s",
            goal=goal,
            higher_is_better=True,
        )
        for name, value, goal in goals
    ]
    allowed_ms = 1000 * CORES / WANTED_TASKS_PER_S
    name = f"{CORES} cores at the goal"
    rows.append(
        Row(
            measure="computing of master and agent for a task",
            ours=cpu_ms,
            reference=allowed_ms,
            reference_name=name,
            unit="ms",
            goal=1.0,
        )
    )
    print_table(rows)


if __name__ == "__main__":
    main()
