"""mesos-execute with what needs more than a command: task groups, health checks, a terminal."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.cli.programs import MESOS_EXECUTE, Result, Workplace
from tfmesos.local import LocalCluster, LocalNeeds

KILLED = "Command terminated with signal Terminated"


@pytest.fixture
async def master(workplace: Workplace) -> AsyncIterator[str]:
    async with await LocalCluster.start(LocalNeeds(cpus=1, mem_mb=256, ports=0), workplace.environment()) as cluster:
        yield cluster.master


def execute(workplace: Workplace, master: str, *words: str) -> Result:
    return workplace.run(*MESOS_EXECUTE, f"--master={master}", *words)


def task(id_: str, command: str, **fields: object) -> dict[str, object]:
    resources = [
        {"name": name, "type": "SCALAR", "scalar": {"value": value}} for name, value in (("cpus", 0.2), ("mem", 32))
    ]
    identity = {"name": id_, "task_id": {"value": id_}, "agent_id": {"value": ""}}
    return {**identity, "resources": resources, "command": {"value": command}, **fields}


def group(*tasks: dict[str, object]) -> str:
    return f"--task_group={json.dumps({'tasks': tasks})}"


def updates(result: Result) -> list[str]:
    """`tg-a TASK_FAILED Command exited with status 3` for each status printed."""
    found: list[str] = []
    for line in result.lines:
        if line.startswith("Received status update "):
            state, _, rest = line.removeprefix("Received status update ").partition(" for task ")
            found.append(f"{rest.strip(chr(39))} {state}")
        elif line.startswith("  message: "):
            found[-1] += f" {line.removeprefix('  message: ')[1:-1]}"
    return found


async def test_a_group_is_told_as_stock_mesos_does(workplace: Workplace, master: str) -> None:
    result = execute(workplace, master, group(task("tg-a", "echo a"), task("tg-b", "sleep 0.1")))

    assert (result.status, result.errors) == (0, "")
    assert "Submitted task group with tasks [ tg-a, tg-b ] to agent '" in result.lines[1]
    told = updates(result)
    assert told[:2] == ["tg-a TASK_STARTING", "tg-b TASK_STARTING"]
    assert sorted(told[2:]) == [
        "tg-a TASK_FINISHED Command exited with status 0",
        "tg-a TASK_RUNNING",
        "tg-b TASK_FINISHED Command exited with status 0",
        "tg-b TASK_RUNNING",
    ]


async def test_a_group_ends_with_its_first_failure(workplace: Workplace, master: str) -> None:
    result = execute(workplace, master, group(task("tg-a", "exit 3"), task("tg-b", "exec sleep 1000")))

    assert result.status == 1
    told = updates(result)
    assert [text for text in told if "tg-a" in text][-1] == "tg-a TASK_FAILED Command exited with status 3"
    assert [text for text in told if "tg-b" in text][-2:] == ["tg-b TASK_KILLING", f"tg-b TASK_KILLED {KILLED}"]


async def test_kill_after_kills_a_whole_group(workplace: Workplace, master: str) -> None:
    tasks = [task(id_, "exec sleep 1000") for id_ in ("tg-a", "tg-b")]
    result = execute(workplace, master, group(*tasks), "--kill_after=100ms")

    assert result.status == 1
    assert sorted(updates(result)[-4:]) == sorted(
        f"{id_} {told}" for id_ in ("tg-a", "tg-b") for told in ("TASK_KILLING", f"TASK_KILLED {KILLED}")
    )


async def test_a_task_whose_health_check_fails(workplace: Workplace, master: str) -> None:
    check = {
        "type": "COMMAND",
        "command": {"value": "exit 3"},
        "delay_seconds": 0,
        "interval_seconds": 0.05,
        "grace_period_seconds": 0,
        "consecutive_failures": 2,
    }
    result = execute(workplace, master, f"--task={json.dumps(task('h', 'exec sleep 1000', health_check=check))}")

    assert updates(result) == [
        "h TASK_STARTING",
        "h TASK_RUNNING",
        "h TASK_RUNNING",
        "h TASK_RUNNING",
        "h TASK_KILLING",
        f"h TASK_KILLED {KILLED}",
    ]
    assert result.lines.count("  healthy?: 0") == 3
    assert result.lines.count("  reason: REASON_TASK_HEALTH_CHECK_STATUS_UPDATED") == 2


async def test_a_task_with_a_terminal(workplace: Workplace, master: str) -> None:
    command = 'test -t 0 && test -t 1 && test -t 2 && test -c "$(tty)"'
    result = execute(workplace, master, "--name=t", "--tty", f"--command={command}")

    assert updates(result)[-1] == "t TASK_FINISHED Command exited with status 0"
