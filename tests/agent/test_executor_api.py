"""The v1 executor API: a real custom executor under a real agent, and the recorded answers to wrong requests."""

from __future__ import annotations

import base64
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import AGENT_ID, FRAMEWORK_ID, InTestMaster, command_task, framework
from tfmesos.agent import Agent, AgentFlags
from tfmesos.transport import HttpConnection
from tfmesos.wire import RecordDecoder, executor_pb2, internal_pb2, mesos_pb2

PATH = "/api/v1/executor"
PROGRAM = Path(__file__).with_name("custom_executor.py")
RECORDED = Path(__file__).parents[1] / "golden/transcripts/executor-errors/answers.md"
JSON = {"Content-Type": "application/json", "Accept": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf", "Accept": "application/x-protobuf"}
Event = executor_pb2.Event


def custom_executor(*arguments: str, executor_id: str = "ex") -> mesos_pb2.ExecutorInfo:
    info = mesos_pb2.ExecutorInfo(type=mesos_pb2.ExecutorInfo.CUSTOM, name="example")
    info.executor_id.value = executor_id
    info.framework_id.value = FRAMEWORK_ID
    info.command.shell = False
    info.command.value = sys.executable
    info.command.arguments.extend([sys.executable, str(PROGRAM), *arguments])
    info.command.environment.variables.add(name="EXAMPLE", value="1")
    resource = info.resources.add(name="mem", type=mesos_pb2.Value.SCALAR)
    resource.scalar.value = 32
    return info


def executor_task(task_id: str, executor: mesos_pb2.ExecutorInfo, data: bytes = b"run") -> mesos_pb2.TaskInfo:
    task = command_task(task_id)
    task.ClearField("command")
    task.executor.CopyFrom(executor)
    task.data = data
    return task


def run_file(flags: AgentFlags, name: str, executor_id: str = "ex") -> Path:
    return Path(flags.work_dir, "slaves/latest/frameworks", FRAMEWORK_ID, f"executors/{executor_id}/runs/latest", name)


def states(master: InTestMaster, task_id: str) -> list[str]:
    return [mesos_pb2.TaskState.Name(update.status.state) for update in master.updates(task_id)]


async def wait_running(master: InTestMaster, *task_ids: str) -> None:
    for task_id in task_ids:
        await master.wait_for_state(task_id, mesos_pb2.TASK_RUNNING)


async def test_one_executor_runs_several_tasks(agent: Agent, master: InTestMaster) -> None:
    executor = custom_executor()
    master.run(executor_task("a", executor, b"finish"))
    master.run(executor_task("b", executor))

    ended = await master.wait_for_end("a")
    await wait_running(master, "b")
    master.kill("b")
    killed = await master.wait_for_end("b")

    assert states(master, "a") == ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"]
    assert (ended.message, killed.message) == ("done", "killed on request")
    update = master.updates("a")[0]
    assert (update.executor_id.value, update.status.executor_id.value) == ("ex", "ex")
    assert update.status.agent_id.value == AGENT_ID
    assert update.status.container_status.executor_pid > 0
    assert (
        update.status.container_status.container_id.value
        == master.updates("b")[0].status.container_status.container_id.value
    )


async def test_an_executor_has_its_environment_and_nothing_else(
    agent: Agent, master: InTestMaster, flags: AgentFlags
) -> None:
    master.run(executor_task("a", custom_executor()))
    await wait_running(master, "a")

    printed = run_file(flags, "stdout").read_text().split("SUBSCRIBED")[0]
    environment = dict(line.split("=", 1) for line in printed.splitlines())
    sandbox = str(run_file(flags, "stdout").resolve().parent)
    environment.pop("LC_CTYPE", None)  # Python's own
    assert environment == {
        "EXAMPLE": "1",
        "LIBPROCESS_IP": "127.0.0.1",
        "LIBPROCESS_PORT": "0",
        "MESOS_AGENT_ENDPOINT": str(agent.address),
        "MESOS_CHECKPOINT": "0",
        "MESOS_DIRECTORY": sandbox,
        "MESOS_EXECUTOR_ID": "ex",
        "MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD": "5secs",
        "MESOS_FRAMEWORK_ID": FRAMEWORK_ID,
        "MESOS_HTTP_COMMAND_EXECUTOR": "0",
        "MESOS_SANDBOX": sandbox,
        "MESOS_SLAVE_ID": AGENT_ID,
        "MESOS_SLAVE_PID": f"slave(1)@{agent.address}",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }


async def test_a_group_goes_to_a_custom_executor_as_one(agent: Agent, master: InTestMaster, flags: AgentFlags) -> None:
    message = internal_pb2.RunTaskGroupMessage(framework=framework(), launch_executor=True)
    message.executor.CopyFrom(custom_executor())
    message.task_group.tasks.extend([command_task("a"), command_task("b")])
    master.send(message)

    await wait_running(master, "a", "b")

    assert "LAUNCH_GROUP" in run_file(flags, "stdout").read_text()


async def test_messages_go_both_ways(agent: Agent, master: InTestMaster) -> None:
    master.run(executor_task("a", custom_executor()))
    await wait_running(master, "a")
    master.send(message_to_executor(b"hi"))

    answer = await master.wait_for(internal_pb2.ExecutorToFrameworkMessage)

    assert (answer.data, answer.executor_id.value, answer.slave_id.value) == (b"echo: hi", "ex", AGENT_ID)


def message_to_executor(data: bytes) -> internal_pb2.FrameworkToExecutorMessage:
    message = internal_pb2.FrameworkToExecutorMessage(data=data)
    message.slave_id.value, message.framework_id.value, message.executor_id.value = AGENT_ID, FRAMEWORK_ID, "ex"
    return message


def shutdown_message() -> internal_pb2.ShutdownExecutorMessage:
    message = internal_pb2.ShutdownExecutorMessage()
    message.framework_id.value, message.executor_id.value = FRAMEWORK_ID, "ex"
    return message


async def test_an_executor_that_is_shut_down_fails_its_tasks(agent: Agent, master: InTestMaster) -> None:
    master.run(executor_task("a", custom_executor()))
    await wait_running(master, "a")
    master.send(shutdown_message())

    ended = await master.wait_for_end("a")

    assert (ended.state, ended.message) == (mesos_pb2.TASK_FAILED, "Executor terminated")
    assert ended.reason == mesos_pb2.TaskStatus.REASON_EXECUTOR_TERMINATED
    assert not ended.HasField("container_status")
    exited = await master.wait_for(internal_pb2.ExitedExecutorMessage)
    assert exited.status == 0
    kinds = [type(message) for message in master.received]
    assert kinds[-2:] == [internal_pb2.ExitedExecutorMessage, internal_pb2.StatusUpdateMessage]


async def test_one_that_does_not_obey_is_ended_after_its_grace(agent: Agent, master: InTestMaster) -> None:
    executor = custom_executor("stubborn")
    executor.shutdown_grace_period.nanoseconds = 200_000_000
    master.run(executor_task("a", executor))
    await wait_running(master, "a")
    master.send(shutdown_message())

    exited = await master.wait_for(internal_pb2.ExitedExecutorMessage)

    assert exited.status == 15 or exited.status == 9


async def test_an_executor_that_crashes_fails_its_tasks(agent: Agent, master: InTestMaster) -> None:
    master.run(executor_task("a", custom_executor("crash")))
    master.run(executor_task("b", custom_executor("crash")))

    for task_id in ("a", "b"):
        assert (await master.wait_for_end(task_id)).message == "Executor terminated"
    exited = await master.wait_for(internal_pb2.ExitedExecutorMessage)
    assert exited.status == 7 << 8


async def test_one_that_does_not_subscribe_is_ended(flags: AgentFlags, master: InTestMaster) -> None:
    async with running_agent(replace(flags, executor_registration_timeout=0.3), master):
        await master.wait_for(internal_pb2.RegisterSlaveMessage)
        master.run(executor_task("a", custom_executor("deaf")))
        ended = await master.wait_for_end("a")

    why, _, _ = ended.message.partition("; ")  # where it had not even been launched by then, that follows
    assert why == "Executor did not register within 300ms"
    assert ended.reason == mesos_pb2.TaskStatus.REASON_EXECUTOR_REGISTRATION_TIMEOUT


async def test_a_command_that_cannot_be_found_ends_its_executor(agent: Agent, master: InTestMaster) -> None:
    executor = custom_executor()
    executor.command.value = "/no/such/program"
    master.run(executor_task("a", executor))

    ended = await master.wait_for_end("a")

    assert ended.message == "Executor terminated; cannot execute '/no/such/program': No such file or directory"


async def test_a_returning_agent_tells_of_its_executors(agent: Agent, master: InTestMaster) -> None:
    master.run(executor_task("a", custom_executor()))
    await wait_running(master, "a")
    master.ping(connected=False)

    again = await master.wait_for(internal_pb2.ReregisterSlaveMessage)

    assert [info.executor_id.value for info in again.executor_infos] == ["ex"]
    assert [task.executor_id.value for task in again.tasks] == ["ex"]
    assert {resource.role for held in (again.executor_infos[0], again.tasks[0]) for resource in held.resources} == {"*"}


def call(kind: str, executor_id: str = "ex", **parts: object) -> bytes:
    ids = {"framework_id": {"value": FRAMEWORK_ID}, "executor_id": {"value": executor_id}}
    return json.dumps({**ids, "type": kind, **parts}).encode()


@pytest.fixture
async def silent(agent: Agent, master: InTestMaster, http: HttpConnection) -> HttpConnection:
    """A connection to an agent whose executor does nothing: the test speaks for it. It has task `a`."""
    executor = custom_executor("deaf")
    master.run(executor_task("a", executor))

    async def is_known() -> bool:
        answer = await http.request("POST", PATH, JSON, call("UNKNOWN"))
        return answer.body != b"Framework cannot be found"

    while not await is_known():
        pass
    return http


async def subscribe(agent: Agent, headers: dict[str, str], body: bytes) -> tuple[HttpConnection, list[bytes]]:
    """A stream's connection and its first records."""
    connection = await HttpConnection.open(agent.address)
    stream = await connection.stream("POST", PATH, headers, body)
    assert stream.status == 200
    decoder = RecordDecoder()
    async for chunk in stream:
        if records := decoder.feed(chunk):
            return connection, records
    raise AssertionError("the stream ended without a record")


async def test_events_come_in_the_medium_that_is_asked_for(
    agent: Agent, master: InTestMaster, silent: HttpConnection
) -> None:
    asked = executor_pb2.Call(type=executor_pb2.Call.SUBSCRIBE)
    asked.framework_id.value, asked.executor_id.value = FRAMEWORK_ID, "ex"
    asked.subscribe.SetInParent()

    first, binary = await subscribe(agent, PROTOBUF, asked.SerializeToString())
    second, text = await subscribe(agent, JSON, call("SUBSCRIBE", subscribe={}))

    subscribed = Event.FromString(binary[0])
    assert subscribed.type == Event.SUBSCRIBED
    assert subscribed.subscribed.agent_info.id.value == AGENT_ID
    assert subscribed.subscribed.agent_info.checkpoint
    assert subscribed.subscribed.executor_info.name == "example"
    told = json.loads(text[0])
    assert set(told["subscribed"]) == {"executor_info", "framework_info", "agent_info", "container_id"}
    assert set(told["subscribed"]["agent_info"]) >= {"hostname", "port", "resources", "id"}
    assert "checkpoint" not in told["subscribed"]["agent_info"]
    assert all("role" not in resource for resource in told["subscribed"]["agent_info"]["resources"])
    await first.close()
    await second.close()


async def test_a_second_subscription_ends_the_first(agent: Agent, master: InTestMaster, silent: HttpConnection) -> None:
    connection = await HttpConnection.open(agent.address)
    stream = await connection.stream("POST", PATH, JSON, call("SUBSCRIBE", subscribe={}))
    second, _ = await subscribe(agent, JSON, call("SUBSCRIBE", subscribe={}))

    async for _ in stream:
        pass  # until the agent ends it

    assert not connection.is_closed
    await connection.close()
    await second.close()


async def test_an_executor_that_does_not_read_its_events_loses_its_stream(
    agent: Agent, master: InTestMaster, silent: HttpConnection
) -> None:
    connection = await HttpConnection.open(agent.address)
    await connection.stream("POST", PATH, JSON, call("SUBSCRIBE", subscribe={}))
    heard = missed = 0
    while not missed:
        master.send(message_to_executor(bytes(1 << 20)))
        metrics = json.loads((await silent.request("GET", "/metrics/snapshot")).body)
        heard, missed = (int(metrics[f"slave/{kind}_framework_messages"]) for kind in ("valid", "invalid"))
    await connection.close()

    assert 10 < heard < 40  # 16 MiB, and what the buffers of both ends take


async def test_a_stream_has_heartbeats(agent: Agent, silent: HttpConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfmesos.agent.executor_api.streams.HEARTBEAT_S", 0.02)
    connection = await HttpConnection.open(agent.address)
    stream = await connection.stream("POST", PATH, JSON, call("SUBSCRIBE", subscribe={}))
    decoder = RecordDecoder()
    seen: list[bytes] = []
    async for chunk in stream:
        seen += decoder.feed(chunk)
        if seen.count(b'{"type":"HEARTBEAT"}') == 2:
            break
    await connection.close()


async def test_before_executors_are_known_they_are_told_to_come_again(flags: AgentFlags, master: InTestMaster) -> None:
    master.answers_registrations = False
    async with running_agent(flags, master) as agent:
        connection = await HttpConnection.open(agent.address)
        answer = await connection.request("POST", PATH, JSON, call("SUBSCRIBE", subscribe={}))
        await connection.close()

    assert (answer.status, answer.body) == (503, b"Agent has not finished recovery")


def recorded_answers() -> dict[str, tuple[int, str, str]]:
    """Status, headers and body by the name of the request."""
    rows = re.findall(r"^\| (.*) \| (\d+) [^|]* \| (.*?) ?\| ?(.*?) ?\|$", RECORDED.read_text(), re.MULTILINE)
    return {name: (int(status), headers.strip(), body) for name, status, headers, body in rows}


def uuid_text(data: bytes = bytes(range(16))) -> str:
    return base64.b64encode(data).decode()


def update(**changes: object) -> bytes:
    status = {
        "task_id": {"value": "a"},
        "state": "TASK_RUNNING",
        "source": "SOURCE_EXECUTOR",
        "uuid": uuid_text(),
        **changes,
    }
    return call("UPDATE", update={"status": {name: value for name, value in status.items() if value is not None}})


IDS = {"framework_id": {"value": FRAMEWORK_ID}, "executor_id": {"value": "ex"}}
HI = {"data": "aGk="}
BEFORE = ("UPDATE before SUBSCRIBE", "HEARTBEAT before SUBSCRIBE")
REQUESTS: dict[str, tuple[str, dict[str, str], bytes]] = {
    "UPDATE before SUBSCRIBE": ("POST", JSON, update()),
    "HEARTBEAT before SUBSCRIBE": ("POST", JSON, call("HEARTBEAT")),
    "GET": ("GET", JSON, b""),
    "no Content-Type": ("POST", {}, b'{"a": 1}'),
    "Content-Type text/plain": ("POST", {"Content-Type": "text/plain"}, b'{"a": 1}'),
    "empty body": ("POST", JSON, b""),
    "broken JSON": ("POST", JSON, b"{"),
    "unknown type": ("POST", JSON, call("NO_SUCH")),
    "type UNKNOWN": ("POST", JSON, call("UNKNOWN")),
    "no type": ("POST", JSON, json.dumps(IDS).encode()),
    "no executor_id": ("POST", JSON, json.dumps({"framework_id": IDS["framework_id"], "type": "HEARTBEAT"}).encode()),
    "no framework_id": ("POST", JSON, json.dumps({"executor_id": IDS["executor_id"], "type": "HEARTBEAT"}).encode()),
    "unknown framework": (
        "POST",
        JSON,
        json.dumps({**IDS, "framework_id": {"value": "x"}, "type": "MESSAGE", "message": HI}).encode(),
    ),
    "unknown executor": ("POST", JSON, call("MESSAGE", "x", message=HI)),
    "SUBSCRIBE without sub-message": ("POST", JSON, call("SUBSCRIBE")),
    "SUBSCRIBE, Accept text/html": ("POST", {**JSON, "Accept": "text/html"}, call("SUBSCRIBE", subscribe={})),
    "UPDATE without sub-message": ("POST", JSON, call("UPDATE")),
    "MESSAGE without sub-message": ("POST", JSON, call("MESSAGE")),
    "UPDATE without uuid": ("POST", JSON, update(uuid=None)),
    "UPDATE, uuid of 3 bytes": ("POST", JSON, update(uuid=uuid_text(b"abc"))),
    "UPDATE, source absent": ("POST", JSON, update(source=None)),
    "UPDATE, SOURCE_AGENT": ("POST", JSON, update(source="SOURCE_AGENT")),
    "UPDATE, TASK_STAGING": ("POST", JSON, update(state="TASK_STAGING")),
    "UPDATE, other executor_id": ("POST", JSON, update(executor_id={"value": "zz"})),
    "UPDATE, state absent": ("POST", JSON, update(state=None)),
    "UPDATE, unknown state name": ("POST", JSON, update(state="TASK_NO_SUCH")),
    "UPDATE of a task the agent does not know (SOURCE_EXECUTOR, TASK_RUNNING)": (
        "POST",
        JSON,
        update(task_id={"value": "never"}),
    ),
    "HEARTBEAT": ("POST", JSON, call("HEARTBEAT")),
}


async def test_wrong_requests_are_answered_as_recorded(agent: Agent, silent: HttpConnection) -> None:
    recorded = {name: row for name, row in recorded_answers().items() if name != "request"}
    assert set(recorded) == set(REQUESTS)
    stream = None
    for name in sorted(REQUESTS, key=lambda name: name not in BEFORE):
        if name not in BEFORE and stream is None:
            stream, _ = await subscribe(agent, JSON, call("SUBSCRIBE", subscribe={}))
        answer = await silent.request(REQUESTS[name][0], PATH, *REQUESTS[name][1:])
        body = answer.body.decode().replace(FRAMEWORK_ID, "F").replace("executor ex ", "executor ex-1 ")
        status, headers, text = recorded[name]
        text = re.sub(r"framework \S+-0000", "framework F", text)
        assert (name, answer.status, body.strip()) == (name, status, text.replace("Call: ex-1", "Call: ex").strip())
        assert "Allow" not in headers or answer.headers["allow"] == "POST"
    assert stream is not None
    await stream.close()
