"""tfrun on a master that is there already: ours and, where it can run, a stock Apache Mesos, each with our agent."""

import contextlib
import json
import signal
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.programs import TFRUN, Program, Workplace, wait_until
from tests.ports import free_port

FOREVER = "sleep 1000"
MASTER = (sys.executable, "-m", "tfmesos.cli.mesos_master")
AGENT = (sys.executable, "-m", "tfmesos.cli.mesos_agent")


def get(address: str, path: str) -> Any:
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
        return json.load(answer)


def is_active_agent(address: str) -> bool:
    with contextlib.suppress(OSError):
        return any(agent["active"] for agent in get(address, "/slaves")["slaves"])
    return False


def ours(address: str) -> list[str]:
    """The names of the frameworks that tfrun has there; the stock master brings one of its own."""
    names = [framework["name"] for framework in get(address, "/frameworks")["frameworks"]]
    return [name for name in names if name.startswith("[tfmesos]")]


@contextlib.contextmanager
def our_master(workplace: Workplace) -> Iterator[str]:
    port = free_port()
    command = (*MASTER, "--ip=127.0.0.1", f"--port={port}", f"--work_dir={workplace.directory}/master")
    with workplace.started(*command) as program:
        yield f"127.0.0.1:{port}"
        end(program)


def end(program: Program) -> None:
    program.signal(signal.SIGTERM)
    program.wait(20)


@pytest.fixture(params=["ours", pytest.param("stock", marks=pytest.mark.stock)])
def master(request: pytest.FixtureRequest, workplace: Workplace) -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        if request.param == "stock":
            address = request.getfixturevalue("start_stock_master")().address
        else:
            address = stack.enter_context(our_master(workplace))
        command = (*AGENT, f"--master={address}", f"--port={free_port()}", f"--work_dir={workplace.directory}/agent")
        resources = "--resources=cpus:4;mem:4096;ports:[31000-31100]"
        agent = stack.enter_context(workplace.started(*command, resources))
        wait_until(lambda: is_active_agent(address), "the agent is registered")
        yield address
        end(agent)


def test_a_job_runs_there(workplace: Workplace, master: str) -> None:
    script = f"echo {{job_name}} {{task_index}}; test {{job_name}} = worker || exec {FOREVER}"

    result = workplace.run(*TFRUN, "-w", "2", "-s", "1", "--", "sh", "-c", script, MESOS_MASTER=master)

    assert result.status == 0, result
    assert {"[worker:0] worker 0", "[worker:1] worker 1"} <= set(result.lines)


def test_its_status_is_that_of_the_first_failing_task(workplace: Workplace, master: str) -> None:
    result = workplace.run(*TFRUN, "-m", master, "-w", "2", "--", "sh", "-c", "exit 9")

    assert result.status == 9
    assert "Command exited with status 9" in result.errors


def test_nothing_is_left_there_when_the_launcher_is_killed(workplace: Workplace, master: str) -> None:
    with workplace.started(*TFRUN, "-m", master, "-w", "2", "--", "sh", "-c", f"echo up; exec {FOREVER}") as program:
        program.wait_output("[worker:1] up\n")
        assert len(ours(master)) == 1
        program.signal(signal.SIGKILL)
        program.wait()

        wait_until(lambda: not workplace.find(FOREVER), "the tasks are gone", 10)
        wait_until(lambda: not ours(master), "the framework is gone", 10)


def test_ctrl_c_ends_it_there(workplace: Workplace, master: str) -> None:
    with workplace.started(*TFRUN, "-m", master, "-w", "1", "--", "sh", "-c", f"echo up; exec {FOREVER}") as program:
        program.wait_output("up\n")
        program.signal(signal.SIGINT)

        assert program.wait(15).status == 130
    assert not workplace.find(FOREVER)


def test_a_job_that_waits_says_why_and_can_be_ended(workplace: Workplace) -> None:
    with our_master(workplace) as master, workplace.started(*TFRUN, "-m", master, "-w", "1", "--", "true") as program:
        assert "agent" in program.wait_error("\n")
        program.signal(signal.SIGINT)

        result = program.wait(10)

    assert (result.status, result.output) == (130, "")


def test_what_does_not_fit_is_told_and_fail_fast_ends_it(workplace: Workplace, master: str) -> None:
    result = workplace.run(*TFRUN, "-m", master, "-w", "1", "-Cw", "9", "--fail-fast", "--", "true")

    assert result.status == 69
    assert "9" in result.errors
    assert "cpus" in result.errors
