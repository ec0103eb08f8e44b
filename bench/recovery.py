"""How long an agent that was killed with 200 running tasks takes from its start until the master knows all of them.

Against the same start without any task: what remains is the price of recovery.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import daemons
from tables import Row, print_table

from tfmesos.client import SchedulerClient
from tfmesos.discovery import build_detector
from tfmesos.wire import mesos_pb2, scheduler_pb2

TASKS = 200
PATIENCE_S = 60.0
GOAL = 3.0
"""Times the start without tasks."""


class RestartedAgent:
    """An agent on a fixed address that is killed and started again."""

    def __init__(self, master: str, directory: str) -> None:
        port = daemons.free_port()
        self._master = master
        self._log = Path(directory) / "agent.log"
        self._argv = [
            daemons.program("mesos-agent"), f"--master={master}", "--ip=127.0.0.1", f"--port={port}",
            f"--work_dir={directory}/agent", f"--runtime_dir={directory}/run", "--registration_backoff_factor=10ms",
            "--resources=cpus:64;mem:65536;disk:1024;ports:[]",
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return when the master counts it as registered."""
        since = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=daemons.clean_environment()
            )
        deadline = time.monotonic() + PATIENCE_S
        while " registered with " not in self._log.read_text()[since:]:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the agent does not register:\n{self._log.read_text()[since:]}")
            time.sleep(0.002)

    def kill(self, number: int = signal.SIGKILL) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait()

    def restart_s(self) -> float:
        """Kill it; how long its next start takes."""
        self.kill()
        begin = time.perf_counter()
        self.start()
        return time.perf_counter() - begin


def running_tasks(master: str) -> int:
    with urllib.request.urlopen(f"http://{master}/metrics/snapshot", timeout=10) as reply:
        values: dict[str, Any] = json.load(reply)
    return int(values["master/tasks_running"])


async def run_tasks(client: SchedulerClient, number: int) -> None:
    """Return when so many tasks run."""
    running = 0
    launched = 0
    async for event in client:
        if event.type == scheduler_pb2.Event.OFFERS:
            for offer in event.offers.offers:
                operation = mesos_pb2.Offer.Operation(type=mesos_pb2.Offer.Operation.LAUNCH)
                for index in range(launched, number):
                    operation.launch.task_infos.append(task(index, offer.agent_id))
                launched = number
                await client.accept([offer.id], [operation])
        elif event.type == scheduler_pb2.Event.UPDATE:
            await client.acknowledge(event.update.status)
            running += event.update.status.state == mesos_pb2.TASK_RUNNING
            if running == number:
                return
        elif event.type == scheduler_pb2.Event.ERROR:
            raise SystemExit(event.error.message)


def task(index: int, agent_id: mesos_pb2.AgentID) -> mesos_pb2.TaskInfo:
    found = mesos_pb2.TaskInfo(name="sleep", agent_id=agent_id)
    found.task_id.value = f"task-{index}"
    for name, amount in (("cpus", 0.01), ("mem", 16.0)):
        found.resources.add(name=name, type=mesos_pb2.Value.SCALAR).scalar.value = amount
    found.command.value = "sleep 1000"
    return found


async def measure(agent: RestartedAgent, master: str) -> float:
    """With the tasks running."""
    framework = mesos_pb2.FrameworkInfo(user="root", name="recovery", checkpoint=True, roles=["*"])
    framework.capabilities.add(type=mesos_pb2.FrameworkInfo.Capability.MULTI_ROLE)
    async with SchedulerClient(build_detector(master), framework) as client:
        await run_tasks(client, TASKS)
        took_s = await asyncio.to_thread(agent.restart_s)
        found = await asyncio.to_thread(running_tasks, master)
        await client.teardown()
    if found != TASKS:
        raise SystemExit(f"{found} of {TASKS} tasks run after the restart")
    return took_s


@contextlib.contextmanager
def agent_at(master: str) -> Iterator[RestartedAgent]:
    with TemporaryDirectory() as directory:
        agent = RestartedAgent(master, directory)
        agent.start()
        try:
            yield agent
        finally:
            agent.kill(signal.SIGUSR1)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with daemons.running(with_agent=False) as pair, agent_at(pair.master) as agent:
        empty_s = min(agent.restart_s() for _ in range(3))
        full_s = asyncio.run(measure(agent, pair.master))
    print_table(
        [
            Row(
                measure=f"restart of an agent with {TASKS} running tasks",
                ours=full_s,
                reference=empty_s,
                reference_name="with none",
                unit="s",
                goal=GOAL,
            )
        ]
    )


if __name__ == "__main__":
    main()
