"""A master on a real socket: streams, agents, endpoints, wrong input."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.master.conftest import Recorded
from tests.master.peers import JSON, SCHEDULER, Agent, Client, Scheduler, launch
from tfmesos.master import AddressUnusable, Master, MasterFlags, WorkDirTaken, WorkDirUnusable
from tfmesos.master.http.scheduler_api import STREAM_LIMIT
from tfmesos.transport import HttpConnection, TcpAddress, UnixAddress
from tfmesos.wire import internal_pb2, mesos_pb2, scheduler_pb2

RUNNING, FINISHED = mesos_pb2.TASK_RUNNING, mesos_pb2.TASK_FINISHED


async def test_a_task_runs_from_offer_to_acknowledged_end(master: Master, client: Client) -> None:
    async with Agent.running(master) as agent, Scheduler.subscribed(client) as scheduler:
        offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
        assert (await scheduler.call("ACCEPT", accept=launch("t", offer))).status == 202
        run = await agent.heard(internal_pb2.RunTaskMessage)
        for state in (RUNNING, FINISHED):
            agent.update(run, state)
            status = (await scheduler.event("UPDATE"))["update"]["status"]
            acknowledge = {name: status[name] for name in ("agent_id", "task_id", "uuid")}
            assert (await scheduler.call("ACKNOWLEDGE", acknowledge=acknowledge)).status == 202
            ack = await agent.heard(internal_pb2.StatusUpdateAcknowledgementMessage)
            assert ack.uuid == bytes([state]) * 16
        state = await client.get_json("/state")
        [task] = state["frameworks"][0]["completed_tasks"]
        assert [status["state"] for status in task["statuses"]] == ["TASK_RUNNING", "TASK_FINISHED"]
        assert state["slaves"][0]["used_resources"]["cpus"] == 0.0


async def test_a_stream_that_the_master_ends_leaves_its_connection_open(client: Client) -> None:
    async with Scheduler.subscribed(client, role="/bad") as scheduler:
        [error] = await scheduler.rest()
        assert (
            error["error"]["message"]
            == "'FrameworkInfo.role' is not a valid role: Role '/bad' cannot start with a slash"
        )
        assert (await scheduler.subscription.request("GET", "/health")).status == 200


async def test_a_framework_whose_connection_ends_is_removed_and_its_agents_are_told(
    master: Master, client: Client
) -> None:
    async with Agent.running(master) as agent:
        async with Scheduler.subscribed(client) as scheduler:
            await scheduler.event("OFFERS")
            scheduler.subscription.abort()
            shutdown = await agent.heard(internal_pb2.ShutdownFrameworkMessage)
            assert shutdown.framework_id.value == scheduler.framework_id
        [gone] = (await client.get_json("/frameworks"))["completed_frameworks"]
        assert not gone["connected"]


async def test_a_broken_link_to_an_agent_rescinds_its_offers(master: Master, client: Client) -> None:
    async with Scheduler.subscribed(client) as scheduler:
        async with Agent.running(master):
            offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
        assert (await scheduler.event("RESCIND"))["rescind"]["offer_id"] == offer["id"]


async def test_a_subscriber_that_never_reads_is_dropped(master: Master, client: Client) -> None:
    async with Agent.running(master) as agent, Scheduler.subscribed(client) as scheduler:
        await scheduler.event("OFFERS")
        # from here on nobody reads the stream
        message = internal_pb2.ExecutorToFrameworkMessage(data=b"x" * (1 << 20))
        message.slave_id.value = agent.id
        message.framework_id.value = scheduler.framework_id
        message.executor_id.value = "e"
        for _ in range(2 * (STREAM_LIMIT >> 20) + 16):
            agent.say(message)
        shutdown = await agent.heard(internal_pb2.ShutdownFrameworkMessage)
        assert shutdown.framework_id.value == scheduler.framework_id


async def test_bodies_that_make_no_sense_change_nothing(master: Master, client: Client) -> None:
    async with Agent.running(master) as agent:
        for name in ("RegisterSlaveMessage", "StatusUpdateMessage", "NoSuchMessage"):
            head = {"Libprocess-From": "slave(1)@127.0.0.1:9"}
            for body in (b"", b"\xff\xff\xff", b"\x0a"):
                path = f"/master/mesos.internal.{name}"
                assert (await client.connection.request("POST", path, head, body)).status == 202
        stranger = internal_pb2.UnregisterSlaveMessage(slave_id=mesos_pb2.AgentID(value=agent.id))
        head = {"Libprocess-From": "slave(1)@127.0.0.1:9"}
        path = "/master/mesos.internal.UnregisterSlaveMessage"
        await client.connection.request("POST", path, head, stranger.SerializeToString())
        [still] = (await client.get_json("/slaves"))["slaves"]
        assert still["id"] == agent.id


async def test_messages_for_unknown_processes_are_not_found(client: Client) -> None:
    head = {"Libprocess-From": "slave(1)@127.0.0.1:9"}
    for to_id in ("slave-observer(7)", "slave-observer(x)", f"slave-observer({'9' * 5000})", "nobody"):
        path = f"/{to_id}/mesos.internal.PongSlaveMessage"
        assert (await client.connection.request("POST", path, head)).status == 404


async def test_names_with_control_characters_do_not_break_the_log(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with Scheduler.subscribed(client, name="a\nb\x1b[2J") as scheduler:
        await scheduler.event("SUBSCRIBED")
    lines = [record.getMessage() for record in caplog.records if "subscribed framework" in record.getMessage()]
    assert lines
    assert all(line.isprintable() for line in lines)


async def test_a_master_that_ends_tells_agents_nothing(tmp_path: Path) -> None:
    master = Master(MasterFlags(port=0, registry="in_memory"))
    await master.start()
    assert isinstance(master.address, TcpAddress)
    async with Client(master.address) as client, Agent.running(master) as agent:
        async with Scheduler.subscribed(client) as scheduler:
            await scheduler.event("OFFERS")
            await master.close()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await agent.heard(internal_pb2.ShutdownFrameworkMessage)


async def test_a_master_listens_on_a_unix_socket_under_a_made_up_pid(tmp_path: Path) -> None:
    address = UnixAddress(str(tmp_path / "master.sock"))
    master = Master(MasterFlags(registry="in_memory"), listen=address)
    await master.start()
    try:
        assert str(master.pid) == "master@127.0.0.1:5050"
        async with await HttpConnection.open(address) as connection:
            assert (await connection.request("GET", "/health")).status == 200
    finally:
        await master.close()


async def test_a_work_dir_belongs_to_one_master_at_a_time(master: Master, tmp_path: Path) -> None:
    second = Master(MasterFlags(port=0, work_dir=str(tmp_path / "master")))
    with pytest.raises(WorkDirTaken, match="is used by another running master"):
        await second.start()
    await second.close()
    await master.close()
    await second.start()
    await second.close()


async def test_a_work_dir_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkDirUnusable, match="Not a directory"):
        await Master(MasterFlags(port=0, work_dir=str(tmp_path / "file" / "dir"))).start()


async def test_a_port_in_use_is_named_and_the_work_dir_is_free_again(master: Master, tmp_path: Path) -> None:
    assert isinstance(master.address, TcpAddress)
    flags = MasterFlags(port=master.address.port, work_dir=str(tmp_path / "other"))
    with pytest.raises(AddressUnusable, match="already in use"):
        await Master(flags).start()
    other = Master(MasterFlags(port=0, work_dir=str(tmp_path / "other")))
    await other.start()
    await other.close()


# --- endpoints ---


def keys(model: Any) -> Any:
    """The names in a JSON value, all the way down; of a list, those of its first item."""
    if isinstance(model, dict):
        return {name: keys(value) for name, value in model.items()}
    return [keys(model[0])] if isinstance(model, list) and model else type(model).__name__


async def test_a_limit_that_is_no_number_is_the_default(client: Client) -> None:
    for limit in ("x", "-1", "9" * 5000):
        assert await client.get_json(f"/tasks?limit={limit}") == {"tasks": []}


NOT_OURS = {"git_sha", "git_tag", "log_dir", "flags"}
"""No git checkout, no log directory; the flags are those this master has."""


@pytest.mark.parametrize(
    ("path", "number"), [("/state", 155), ("/slaves", 161), ("/frameworks", 163), ("/tasks", 165), ("/version", 151)]
)
async def test_endpoints_have_the_keys_of_mesos(
    master: Master, client: Client, recorded: Recorded, path: str, number: int
) -> None:
    info = {
        "capabilities": [{"type": "MULTI_ROLE"}],
        "roles": ["*"],
        "labels": {"labels": [{"key": "a", "value": "b"}]},
        "hostname": "h",
    }
    async with (
        Agent.running(master, "cpus:4;mem:9;disk:9;ports:[1-9]") as agent,
        Scheduler.subscribed(client, **info) as scheduler,
    ):
        offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
        await scheduler.call("ACCEPT", accept=launch("t", offer))
        agent.update(await agent.heard(internal_pb2.RunTaskMessage), RUNNING)
        await scheduler.event("OFFERS")
        ours, theirs = await client.get_json(path), recorded.json("operator", number)
    assert set(ours) - {"cluster"} - NOT_OURS == set(theirs) - NOT_OURS
    for name in ("slaves", "frameworks"):
        for ours_one, theirs_one in zip(ours.get(name, []), theirs.get(name, []), strict=True):
            assert set(ours_one) == set(theirs_one), name


async def test_metrics_are_a_part_of_those_of_mesos(client: Client, recorded: Recorded) -> None:
    ours, theirs = await client.get_json("/metrics/snapshot"), recorded.json("operator", 169)
    assert set(ours) <= set(theirs)
    wanted = {"master/elected", "master/slaves_active", "master/gpus_total", "master/gpus_used", "master/tasks_running"}
    assert wanted <= set(ours)


async def test_metrics_with_a_bad_timeout_are_refused(client: Client) -> None:
    assert (await client.get("/metrics/snapshot?timeout=x")).status == 400


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/version/", 200),
        ("/master/health", 200),
        ("/redirect/x", 404),
        ("/tasksx", 404),
        ("/nothing", 404),
        ("/", 404),
    ],
)
async def test_only_known_paths_are_answered(client: Client, path: str, status: int) -> None:
    response = await client.get(path)
    assert response.status == status
    assert status == 200 or response.body == b"404 Not Found."


async def test_the_leader_redirects_to_itself(master: Master, client: Client) -> None:
    response = await client.get("/master/redirect")
    assert (response.status, response.headers["location"]) == (307, f"//127.0.0.1:{master.pid.port}")


async def test_json_can_be_wrapped_for_scripts(client: Client) -> None:
    response = await client.get("/version?jsonp=cb")
    assert response.headers["content-type"] == "text/javascript"
    assert response.body.startswith(b"cb({")
    assert response.body.endswith(b"})")


async def test_long_answers_are_compressed_for_those_who_take_it(client: Client) -> None:
    assert (await client.get("/state", **{"Accept-Encoding": "gzip"})).headers["content-encoding"] == "gzip"


OPERATOR_ROWS = {
    "GET /api/v1": ("GET", "/api/v1", {}, b""),
    "no Content-Type": ("POST", "/api/v1", {}, b"{}"),
    "Content-Type text/plain": ("POST", "/api/v1", {"Content-Type": "text/plain"}, b"{}"),
    "empty body": ("POST", "/api/v1", JSON, b""),
    "broken JSON": ("POST", "/api/v1", JSON, b"{"),
    "{}": ("POST", "/api/v1", JSON, b"{}"),
    "unknown type": ("POST", "/api/v1", JSON, b'{"type": "NO_SUCH"}'),
    "type UNKNOWN": ("POST", "/api/v1", JSON, b'{"type": "UNKNOWN"}'),
    "Accept text/html": ("POST", "/api/v1", JSON | {"Accept": "text/html"}, b'{"type": "GET_HEALTH"}'),
    "READ_FILE without its sub-message": ("POST", "/api/v1", JSON, b'{"type": "READ_FILE"}'),
    "no Accept": ("POST", "/api/v1", JSON, b'{"type": "GET_HEALTH"}'),
    "TEARDOWN of an unknown framework": (
        "POST",
        "/api/v1",
        JSON,
        b'{"type": "TEARDOWN", "teardown": {"framework_id": {"value": "x"}}}',
    ),
    "POST /teardown without body": ("POST", "/teardown", {}, b""),
    "POST /teardown, unknown framework": ("POST", "/teardown", {}, b"frameworkId=x"),
    "GET /teardown": ("GET", "/teardown", {}, b""),
    "GET /state/anything/below": ("GET", "/redirect/x", {}, b""),  # so the recording, whatever the row says
}


@pytest.mark.parametrize("name", OPERATOR_ROWS)
async def test_operator_requests_are_answered_as_recorded(client: Client, recorded: Recorded, name: str) -> None:
    method, path, headers, body = OPERATOR_ROWS[name]
    response = await client.connection.request(method, path, headers, body)
    _, status, others, text = next(row for row in recorded.answers("operator") if row[0] == name)
    assert f"{response.status} {response.reason}" == status
    assert response.body.decode().strip() == text
    if others:
        wanted_name, _, wanted = others.partition(": ")
        assert response.headers[wanted_name.lower()] == wanted


@pytest.mark.parametrize(
    "call", ["GET_AGENTS", "GET_FRAMEWORKS", "GET_TASKS", "GET_STATE", "GET_EXECUTORS", "GET_MASTER"]
)
async def test_operator_calls_list_what_there_is(master: Master, client: Client, call: str) -> None:
    async with Agent.running(master), Scheduler.subscribed(client) as scheduler:
        await scheduler.event("OFFERS")
        response = await client.post("/master/api/v1", {"type": call})
        answer = json.loads(response.body)
        assert answer["type"] == call
        part = answer[call.lower()]
        assert [] not in (part.get("agents"), part.get("frameworks"))


async def test_an_unknown_scheduler_call_is_not_implemented(client: Client) -> None:
    async with Scheduler.subscribed(client) as scheduler:
        await scheduler.event("SUBSCRIBED")
        assert (await scheduler.call("UNKNOWN")).status == 501


async def test_the_scheduler_api_answers_under_master_and_below_its_path(client: Client) -> None:
    for path in (f"/master{SCHEDULER}", f"{SCHEDULER}/", f"{SCHEDULER}/below"):
        response = await client.post(path, {"type": "TEARDOWN"})
        assert (response.status, response.body) == (
            400,
            b"Failed to validate scheduler::Call: Expecting 'framework_id' to be present",
        )


async def test_a_scheduler_on_protobuf_gets_protobuf(client: Client) -> None:
    call = scheduler_pb2.Call(type=scheduler_pb2.Call.SUBSCRIBE)
    call.subscribe.framework_info.user = call.subscribe.framework_info.name = "x"
    head = {"Content-Type": "application/x-protobuf", "Accept": "application/x-protobuf"}
    stream = await client.connection.stream("POST", SCHEDULER, head, call.SerializeToString())
    assert stream.headers["content-type"] == "application/x-protobuf"
    first = await anext(stream.__aiter__())
    length, _, rest = first.partition(b"\n")
    event = scheduler_pb2.Event.FromString(rest[: int(length)])
    assert event.type == scheduler_pb2.Event.SUBSCRIBED
