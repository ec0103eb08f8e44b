"""What operators read and order: pages, calls, files, agents taken out of service."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.master.conftest import Recorded
from tests.master.peers import JSON, Agent, Client, Scheduler, call, launch, started
from tfmesos.master import Master
from tfmesos.transport import HttpConnection
from tfmesos.wire import internal_pb2, master_pb2, mesos_pb2

LOG = "/master/log"
RUNNING = mesos_pb2.TASK_RUNNING


async def refusal(client: Client, kind: str, **fields: object) -> tuple[int, str]:
    response = await client.post("/api/v1", {"type": kind, **fields})
    return response.status, response.body.decode()


# --- agents in and out of service ---


async def test_a_deactivated_agent_is_not_offered_until_it_is_reactivated(master: Master, client: Client) -> None:
    async with Agent.running(master) as agent:
        agent_id = {"agent_id": {"value": agent.id}}
        assert await call(client, "DEACTIVATE_AGENT", deactivate_agent=agent_id) is None
        [shown] = (await client.get_json("/slaves"))["slaves"]
        assert (shown["active"], shown["deactivated"]) == (False, True)
        assert (await client.get_json("/metrics/snapshot"))["master/slaves_active"] == 0.0
        async with Scheduler.subscribed(client) as scheduler:
            await scheduler.event("HEARTBEAT")
            assert await call(client, "REACTIVATE_AGENT", reactivate_agent=agent_id) is None
            [offer] = (await scheduler.event("OFFERS"))["offers"]["offers"]
            assert offer["agent_id"]["value"] == agent.id
        assert (await refusal(client, "REACTIVATE_AGENT", reactivate_agent=agent_id))[0] == 400


async def test_an_agent_is_drained_and_told_so(master: Master, client: Client, recorded: Recorded) -> None:
    async with Agent.running(master) as agent:
        wish = {"agent_id": {"value": agent.id}, "max_grace_period": {"seconds": 5}}
        assert await call(client, "DRAIN_AGENT", drain_agent=wish) is None
        told = await agent.heard(internal_pb2.DrainSlaveMessage)
        assert told.config.max_grace_period.nanoseconds == 5_000_000_000
        [shown] = (await call(client, "GET_AGENTS"))["get_agents"]["agents"]
        [theirs] = recorded.json("operator", 460)["get_agents"]["agents"]
        assert shown["drain_info"] == theirs["drain_info"]
        assert set(shown["estimated_drain_start_time"]) == {"nanoseconds"}
        [page] = (await client.get_json("/state"))["slaves"]
        assert page["drain_info"]["state"] == "DRAINED"
        assert page["estimated_drain_start_time_seconds"] > 0


async def test_an_agent_marked_gone_is_shut_down_and_forgotten(master: Master, client: Client) -> None:
    async with Agent.running(master) as agent:
        agent_id = {"agent_id": {"value": agent.id}}
        assert await call(client, "MARK_AGENT_GONE", mark_agent_gone=agent_id) is None
        assert await agent.heard(internal_pb2.ShutdownMessage)
        assert (await client.get_json("/slaves"))["slaves"] == []
        assert await call(client, "MARK_AGENT_GONE", mark_agent_gone=agent_id) is None


@pytest.mark.parametrize(
    ("kind", "status", "text"),
    [
        ("MARK_AGENT_GONE", 404, "Agent 'x' not found"),
        ("DRAIN_AGENT", 400, "Unknown agent"),
        ("DEACTIVATE_AGENT", 400, "Unknown agent"),
        ("REACTIVATE_AGENT", 400, "Unknown agent"),
    ],
)
async def test_unknown_agents_are_refused_by_every_call(client: Client, kind: str, status: int, text: str) -> None:
    assert await refusal(client, kind, **{kind.lower(): {"agent_id": {"value": "x"}}}) == (status, text)


@pytest.mark.parametrize("seconds", [-1, 10**12])
async def test_a_grace_period_that_is_none_is_refused(client: Client, seconds: int) -> None:
    wish = {"agent_id": {"value": "x"}, "max_grace_period": {"seconds": seconds}}
    status, text = await refusal(client, "DRAIN_AGENT", drain_agent=wish)
    assert (status, "'max_grace_period' must be from 0 to 9223372036 s" in text) == (400, True)


async def test_a_framework_is_torn_down_by_call_and_by_form(master: Master, client: Client) -> None:
    for is_form in (False, True):
        async with Scheduler.subscribed(client) as scheduler:
            await scheduler.event("SUBSCRIBED")
            if is_form:
                body = f"frameworkId={scheduler.framework_id}".encode()
                assert (await client.connection.request("POST", "/master/teardown", {}, body)).status == 200
            else:
                await call(client, "TEARDOWN", teardown={"framework_id": {"value": scheduler.framework_id}})
            await scheduler.rest()
    assert len((await client.get_json("/frameworks"))["completed_frameworks"]) == 2


# --- calls ---


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("GET_OPERATIONS", 223),
        ("GET_QUOTA", 237),
        ("GET_MAINTENANCE_STATUS", 233),
        ("GET_MAINTENANCE_SCHEDULE", 235),
        ("GET_LOGGING_LEVEL", 213),
        ("GET_EXECUTORS", 221),
    ],
)
async def test_what_nobody_uses_is_answered_as_stock_mesos_answers(
    client: Client, recorded: Recorded, kind: str, number: int
) -> None:
    assert await call(client, kind) == recorded.json("operator", number)


@pytest.mark.parametrize("path", ["/quota", "/maintenance/schedule", "/maintenance/status"])
async def test_pages_of_what_nobody_uses_are_empty(client: Client, path: str) -> None:
    assert await client.get_json(path) == {}


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("POST", "/quota", 501, "This master does not support quota yet"),
        ("PATCH", "/quota", 405, "405 Method Not Allowed. Expecting one of { 'GET', 'POST', 'DELETE' }, but received "),
        ("POST", "/maintenance/schedule", 501, "This master does not support maintenance yet"),
        ("POST", "/machine/down", 501, "This master does not support maintenance yet"),
        ("GET", "/machine/up", 405, "405 Method Not Allowed. Expecting one of { 'POST' }, but received 'GET'."),
        ("POST", "/reserve", 501, "This master does not support reservations yet"),
        ("POST", "/create-volumes", 501, "This master does not support persistent volumes yet"),
    ],
)
async def test_what_comes_later_is_refused_in_clear_words(
    client: Client, method: str, path: str, status: int, text: str
) -> None:
    response = await client.connection.request(method, path, {}, b"")
    assert response.status == status
    assert response.body.decode().startswith(text)


async def test_calls_of_later_are_refused_by_name(client: Client) -> None:
    assert await refusal(client, "UPDATE_QUOTA", update_quota={}) == (
        501,
        "UPDATE_QUOTA is not supported by this master",
    )


@pytest.mark.parametrize("kind", ["GET_STATE", "SUBSCRIBE", "GET_AGENTS"])
async def test_records_are_no_medium_of_answers(client: Client, kind: str) -> None:
    """MESOS-8985: such a request has crashed a stock daemon."""
    response = await client.post("/api/v1", {"type": kind}, Accept="application/recordio")
    assert response.status == 406
    assert (await client.get("/health")).status == 200


async def test_state_is_the_same_in_both_media(master: Master, client: Client) -> None:
    async with Agent.running(master) as agent, Scheduler.subscribed(client) as scheduler:
        offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
        await scheduler.call("ACCEPT", accept=launch("t", offer))
        agent.update(await agent.heard(internal_pb2.RunTaskMessage), RUNNING)
        await scheduler.event("UPDATE")
        shown = (await call(client, "GET_STATE"))["get_state"]
        headers = JSON | {"Accept": "application/x-protobuf"}
        response = await client.connection.request("POST", "/api/v1", headers, b'{"type":"GET_STATE"}')
        state = master_pb2.Response.FromString(response.body).get_state
        [task] = shown["get_tasks"]["tasks"]
        assert task["state"] == "TASK_RUNNING"
        assert task["status_update_uuid"]
        assert [one.task_id.value for one in state.get_tasks.tasks] == ["t"]
        assert state.get_tasks.tasks[0].statuses[0].source == mesos_pb2.TaskStatus.SOURCE_MASTER or task["statuses"]
        assert "role" not in shown["get_agents"]["agents"][0]["agent_info"]["resources"][0]
        assert await call(client, "GET_TASKS") == {"type": "GET_TASKS", "get_tasks": shown["get_tasks"]}


async def test_pages_show_a_task_as_it_is_now_and_not_as_it_was_written_before(master: Master, client: Client) -> None:
    async with Agent.running(master) as agent, Scheduler.subscribed(client) as scheduler:
        offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
        await scheduler.call("ACCEPT", accept=launch("t", offer))
        run = await agent.heard(internal_pb2.RunTaskMessage)
        seen = []
        for state in (mesos_pb2.TASK_STARTING, RUNNING, mesos_pb2.TASK_FINISHED):
            agent.update(run, state)
            await scheduler.event("UPDATE")
            [task] = (await client.get_json("/tasks"))["tasks"]
            [again] = (await call(client, "GET_TASKS"))["get_tasks"]["tasks"]
            [framework] = (await client.get_json("/frameworks"))["frameworks"]
            assert task["state"] == again["state"] == framework["tasks"][0]["state"]
            seen.append(task["state"])
        assert seen == ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"]


async def test_the_summary_counts_tasks_by_agent_and_framework(master: Master, client: Client) -> None:
    async with Agent.running(master) as agent, Scheduler.subscribed(client) as scheduler:
        offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
        await scheduler.call("ACCEPT", accept=launch("t", offer))
        agent.update(await agent.heard(internal_pb2.RunTaskMessage), RUNNING)
        await scheduler.event("UPDATE")
        summary = await client.get_json("/state-summary")
        for entry, partners in ((summary["slaves"][0], "framework_ids"), (summary["frameworks"][0], "slave_ids")):
            assert (entry["TASK_RUNNING"], entry["TASK_STAGING"]) == (1, 0)
            assert entry[partners] == [scheduler.framework_id if partners == "framework_ids" else agent.id]


# --- files, log, metrics ---


async def test_the_log_can_be_read(tmp_path: Path) -> None:
    log = tmp_path / "mesos-master.INFO"
    log.write_bytes(b"a line\n" * 3)
    async with started(log_dir=str(tmp_path)) as client:
        assert await client.get_json(f"/files/browse?path={LOG}") == []
        assert await client.get_json(f"/files/read?path={LOG}&offset=-1") == {"data": "", "offset": 21}
        assert await client.get_json(f"/files/read?path={LOG}&offset=0&length=2") == {"data": "a ", "offset": 0}
        download = await client.get(f"/files/download?path={LOG}")
        assert download.body == log.read_bytes()
        assert download.headers["content-disposition"] == "attachment; filename=log"
        read = await call(client, "READ_FILE", read_file={"path": LOG, "offset": 0, "length": 1})
        assert read["read_file"] == {"size": 21, "data": "YQ=="}
        assert await call(client, "LIST_FILES", list_files={"path": LOG}) == {"type": "LIST_FILES", "list_files": {}}
        assert (await client.get_json("/state"))["log_dir"] == str(tmp_path)


async def test_without_a_log_there_are_no_files(client: Client) -> None:
    assert (await client.get(f"/files/browse?path={LOG}")).status == 404
    assert await refusal(client, "READ_FILE", read_file={"path": LOG, "offset": 0}) == (404, "")
    assert await client.get_json("/files/debug") == {}


async def test_metrics_tell_of_frameworks_and_allocations(master: Master, client: Client, recorded: Recorded) -> None:
    async with Agent.running(master), Scheduler.subscribed(client, name="a/b c") as scheduler:
        offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
        await scheduler.call("ACCEPT", accept=launch("t", offer))
        await scheduler.call("DECLINE", decline={"offer_ids": []})
        numbers = await client.get_json("/metrics/snapshot")
        mine = f"master/frameworks/a%2Fb%20c/{scheduler.framework_id}/"
        [subscribed] = [name for name in recorded.json("operator", 169) if name.endswith("-0000/subscribed")]
        theirs = subscribed.removesuffix("subscribed")
        wanted = {name.removeprefix(theirs) for name in recorded.json("operator", 169) if name.startswith(theirs)}
        assert {name.removeprefix(mine) for name in numbers if name.startswith(mine)} >= wanted
        assert numbers[f"{mine}calls/accept"] == numbers[f"{mine}operations/launch"] == 1.0
        assert numbers[f"{mine}calls/decline"] == 1.0
        assert numbers[f"{mine}tasks/active/task_staging"] == 1.0
        assert numbers["allocator/mesos/allocation_runs"] >= 1.0
        assert numbers["allocator/mesos/allocation_run_ms"] >= 0.0
        assert numbers["allocator/mesos/resources/cpus/total"] == 4.0
        assert numbers["allocator/mesos/resources/cpus/offered_or_allocated"] >= 1.0
        assert numbers["allocator/mesos/roles/*/shares/dominant"] >= 0.25
        assert numbers["allocator/mesos/offer_filters/roles/*/active"] == 0.0
        assert numbers["registrar/registry_size_bytes"] > 0.0
        assert numbers["registrar/state_store_ms"] > 0.0
        text = (await client.get("/metrics")).body.decode()
        labels = f'framework_name="a/b c",framework_id="{scheduler.framework_id}",type="accept"'
        assert f"mesos_master_framework_calls_by_type{{{labels}}} 1.0\n" in text
        assert 'mesos_master_tasks{state="staging"} 1.0\n' in text


async def test_frameworks_can_be_left_out_of_the_metrics() -> None:
    async with started(publish_per_framework_metrics=False) as client, Scheduler.subscribed(client) as scheduler:
        await scheduler.event("SUBSCRIBED")
        assert not any(name.startswith("master/frameworks/") for name in await client.get_json("/metrics/snapshot"))


async def test_a_large_state_is_shown_while_others_are_served(master: Master, client: Client) -> None:
    """Written a few tasks at a time: whoever asks meanwhile is answered before the page is there."""
    async with Agent.running(master, "cpus:4000;mem:4096") as agent:
        message = internal_pb2.ReregisterSlaveMessage(version="1.11.0")
        message.slave.id.value, message.slave.hostname, message.slave.port = "other-S0", "127.0.0.1", agent.pid.port
        message.slave.resources.extend(_cpus(4000.0))
        framework = message.frameworks.add(user="nobody", name="large", failover_timeout=1e6)
        framework.id.value = "large"
        for number in range(2000):
            task = message.tasks.add(name=f"t{number}", state=RUNNING)
            task.task_id.value, task.framework_id.value, task.agent_id.value = f"t{number}", "large", "other-S0"
            task.resources.extend(_cpus(1.0))
        agent.say(message)
        await agent.heard(internal_pb2.SlaveReregisteredMessage)
        async with (
            await HttpConnection.open(client.address) as other,
            await HttpConnection.open(client.address) as third,
        ):
            page = other.request("GET", "/state")
            health = third.request("GET", "/health")
            order = await _finished_order({"page": page, "health": health})
        assert order == ["health", "page"]
        [shown] = (await client.get_json("/state"))["frameworks"]
        assert len(shown["tasks"]) == 2000


def _cpus(amount: float) -> list[mesos_pb2.Resource]:
    resource = mesos_pb2.Resource(name="cpus", type=mesos_pb2.Value.SCALAR)
    resource.scalar.value = amount
    return [resource]


async def _finished_order(waiting: dict[str, Any]) -> list[str]:
    order: list[str] = []

    async def watch(name: str) -> None:
        assert (await waiting[name]).status == 200
        order.append(name)

    await asyncio.gather(*map(watch, waiting))
    return order
