"""mesos-execute as a program, on our own master and agent."""

import re
import shlex
import signal
from collections.abc import AsyncIterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.cli.programs import MESOS_EXECUTE, TFRUN, Result, Workplace
from tfmesos.local import LocalCluster, LocalNeeds
from tfmesos.version import __version__


@pytest.fixture
async def master(workplace: Workplace) -> AsyncIterator[str]:
    async with await LocalCluster.start(LocalNeeds(cpus=1, mem_mb=64, ports=0), workplace.environment()) as cluster:
        yield cluster.master


def execute(workplace: Workplace, master: str, *words: str) -> Result:
    return workplace.run(*MESOS_EXECUTE, f"--master={master}", *words)


def without_ids(text: str) -> str:
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}-", "ID-", text)


FIRST = """\
Subscribed with ID ID-0000
Submitted task '{name}' to agent 'ID-S0'
Received status update TASK_STARTING for task '{name}'
  source: SOURCE_EXECUTOR
Received status update TASK_RUNNING for task '{name}'
  source: SOURCE_EXECUTOR
"""


async def test_a_command_that_succeeds(workplace: Workplace, master: str) -> None:
    result = execute(workplace, master, "--name=success", "--command=echo hello")

    assert without_ids(result.output) == FIRST.format(name="success") + (
        "Received status update TASK_FINISHED for task 'success'\n"
        "  message: 'Command exited with status 0'\n"
        "  source: SOURCE_EXECUTOR\n"
    )
    assert (result.status, result.errors) == (0, "")


async def test_a_command_that_fails_ends_with_1(workplace: Workplace, master: str) -> None:
    result = execute(workplace, master, "--name=fail", "--command=exit 3")

    assert result.status == 1
    assert "message: 'Command exited with status 3'" in result.output


async def test_kill_after(workplace: Workplace, master: str) -> None:
    result = execute(workplace, master, "--name=killed", "--command=exec sleep 1000", "--kill_after=200ms")

    assert without_ids(result.output) == FIRST.format(name="killed") + (
        "Asked to kill task 'killed' on agent 'ID-S0'\n"
        "Received status update TASK_KILLING for task 'killed'\n"
        "  source: SOURCE_EXECUTOR\n"
        "Received status update TASK_KILLED for task 'killed'\n"
        "  message: 'Command terminated with signal Terminated'\n"
        "  source: SOURCE_EXECUTOR\n"
    )
    assert result.status == 1


async def test_a_bad_id_is_the_masters_to_refuse(workplace: Workplace, master: str) -> None:
    result = execute(workplace, master, "--name=a/b", "--command=true")

    assert without_ids(result.output) == (
        "Subscribed with ID ID-0000\n"
        "Submitted task 'a/b' to agent 'ID-S0'\n"
        "Received status update TASK_ERROR for task 'a/b'\n"
        "  message: ''a/b' contains invalid characters'\n"
        "  source: SOURCE_MASTER\n"
        "  reason: REASON_TASK_INVALID\n"
    )
    assert result.status == 1


async def test_the_environment_arrives(workplace: Workplace, master: str) -> None:
    result = execute(workplace, master, "--name=env", '--env={"A":"b c"}', '--command=test "$A" = "b c"')

    assert result.status == 0


async def test_json_is_accepted_as_content_type(workplace: Workplace, master: str) -> None:
    assert execute(workplace, master, "--name=json", "--command=true", "--content_type=json").status == 0


async def test_a_task_in_json_with_an_old_role(workplace: Workplace, master: str) -> None:
    task = (
        '{"name":"from-json","task_id":{"value":"from-json"},"agent_id":{"value":""},'
        '"resources":[{"name":"cpus","type":"SCALAR","scalar":{"value":0.2},"role":"*"}],'
        '"command":{"shell":false,"value":"/bin/echo","arguments":["echo","a b"]}}'
    )

    assert execute(workplace, master, f"--task={task}").status == 0


async def test_what_no_offer_has_is_told_and_waited_for(workplace: Workplace, master: str) -> None:
    command = (*MESOS_EXECUTE, f"--master={master}", "--name=x", "--command=true", "--resources=gpus:1")
    with workplace.started(*command) as program:
        program.wait_output("Subscribed")
        text = program.wait_error("Still waiting.\n")
        program.signal(signal.SIGINT)

        assert program.wait(10).status == 130
    assert text.startswith("--resources has no cpus and mem: cpus:0.1;mem:128 added.\n")
    assert "lacks gpus (1 needed, 0 offered)" in text


def test_a_master_that_is_not_there_is_waited_for(workplace: Workplace) -> None:
    command = (*MESOS_EXECUTE, "--master=127.0.0.1:9", "--name=x", "--command=true")
    with workplace.started(*command) as program:
        assert "127.0.0.1:9" in program.wait_error("\n")
        program.signal(signal.SIGTERM)

        program.wait(10)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (
            ["--no-flag", "--name=x", "--command=true"],
            "Failed to load unknown flag 'flag' via 'no-flag'",
        ),
        (["--such-flag", "--name=x", "--command=true"], "Failed to load unknown flag 'such-flag'"),
        (["--command=true"], "Missing required option --name"),
        (["--name=x"], "Missing required option --command"),
        (["--name=x", "--kill_after=3"], "Failed to load flag 'kill_after'"),
    ],
)
def test_wrong_flags_show_the_usage(workplace: Workplace, words: list[str], first: str) -> None:
    result = execute(workplace, "127.0.0.1:9", *words)

    assert result.status == 1
    assert result.errors.startswith(first)
    assert "\n\nUsage: mesos-execute [options]\n" in result.errors


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--resources=cpus:x"], "Failed to parse resources 'cpus:x': Bad type for resource cpus value x type TEXT"),
        (["--content_type=xml"], "Invalid content type 'xml'"),
        (["--master=zk://a/b"], "zk://"),
        (["--master=a b"], "a b"),
    ],
)
def test_wrong_values_are_told_in_one_line(workplace: Workplace, words: list[str], text: str) -> None:
    master = [] if "--master" in words[0] else ["--master=127.0.0.1:9"]
    result = workplace.run(*MESOS_EXECUTE, *master, "--name=x", "--command=true", *words)

    assert result.status == 1
    assert text in result.errors
    assert len(result.errors.splitlines()) == 1


async def test_a_reader_that_goes_away_is_no_error(workplace: Workplace, master: str) -> None:
    command = shlex.join([*MESOS_EXECUTE, f"--master={master}", "--name=x", "--command=sleep 0.2"])

    result = workplace.run("bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}")

    assert (result.status, result.errors) == (141, "")


def test_help_wins_and_goes_to_standard_output(workplace: Workplace) -> None:
    result = workplace.run(*MESOS_EXECUTE, "--help", "--nonsense")

    assert (result.status, result.errors) == (0, "")
    assert "--kill_after=VALUE" in result.output


def test_the_version_is_that_of_mesos_and_behind_it_ours(workplace: Workplace) -> None:
    result = workplace.run(*MESOS_EXECUTE, "--version", "--nonsense")

    assert (result.status, result.output) == (0, f"mesos 1.11.0 (TFMesos {__version__})\n")


@pytest.mark.parametrize(
    ("program", "status"), [((*MESOS_EXECUTE, "--name=x", "--command=true"), 1), ((*TFRUN, "-w", "1"), 69)]
)
async def test_an_agent_is_no_master(workplace: Workplace, master: str, program: list[str], status: int) -> None:
    agent = master.replace("master.sock", "agent.sock")
    words = [f"--master={agent}"] if status == 1 else ["-m", agent, "--", "true"]

    result = workplace.run(*program, *words)

    told = f"{agent} answers, but it is a Mesos agent, not a master (masters listen on 5050 by default)\n"
    assert (result.status, result.output) == (status, "")
    assert result.errors in (told, f"tfrun: {told}")


def test_a_web_server_is_no_master(workplace: Workplace) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        address = f"127.0.0.1:{server.server_port}"
        result = execute(workplace, address, "--name=x", "--command=true")
        server.shutdown()
        thread.join()

    told = f"{address} answers, but it is another web server, not a master (masters listen on 5050 by default)\n"
    assert (result.status, result.output, result.errors) == (1, "", told)


@pytest.mark.stock
def test_on_a_stock_master_a_subscription_and_an_error(workplace: Workplace, stock_master: object) -> None:
    command = (*MESOS_EXECUTE, f"--master={stock_master.address}", "--name=x", "--command=true")  # type: ignore[attr-defined]
    with workplace.started(*command) as program:
        program.wait_output("Subscribed with ID")
        program.signal(signal.SIGINT)

        assert program.wait(10).status == 130
