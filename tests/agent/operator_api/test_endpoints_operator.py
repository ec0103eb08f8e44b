"""What operators see of an agent besides its files: containers, statistics, executors, metrics, the log."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import AGENT_ID, FRAMEWORK_ID, InTestMaster, command_task
from tfmesos.agent import Agent, AgentFlags
from tfmesos.transport import HttpConnection
from tfmesos.wire import mesos_pb2

JSON = {"Content-Type": "application/json"}
RECORDED = Path(__file__).parents[2] / "golden/transcripts/operator"
LISTS = {
    "GET_TASKS": {"pending_tasks", "queued_tasks", "launched_tasks", "terminated_tasks", "completed_tasks"},
    "GET_EXECUTORS": {"executors", "completed_executors"},
    "GET_FRAMEWORKS": {"frameworks", "completed_frameworks"},
    "GET_OPERATIONS": set(),
    "GET_RESOURCE_PROVIDERS": set(),
}


@pytest.fixture
async def running(agent: Agent, master: InTestMaster) -> None:
    """One task that runs and one that has ended."""
    master.run(command_task("long", "exec sleep 1000"))
    await master.wait_for_state("long", mesos_pb2.TASK_RUNNING)
    master.run(command_task("short", "exit 3"))
    await master.wait_for_end("short")


async def page(http: HttpConnection, path: str) -> Any:
    response = await http.request("GET", path)
    assert response.status == 200, response
    return json.loads(response.body)


async def call(http: HttpConnection, kind: str, **fields: object) -> Any:
    response = await http.request("POST", "/api/v1", JSON, json.dumps({"type": kind, **fields}).encode())
    assert response.status == 200, response
    return json.loads(response.body) if response.body else None


def recorded(number: int) -> Any:
    [path] = RECORDED.glob(f"{number:03d}-*.json")
    return json.loads(path.read_bytes())


async def test_running_containers_are_shown_with_what_they_use(http: HttpConnection, running: None) -> None:
    [shown] = await page(http, "/containers")
    assert (shown["executor_id"], shown["framework_id"], shown["source"]) == ("long", FRAMEWORK_ID, "long")
    assert shown["status"]["container_id"] == {"value": shown["container_id"]}
    assert shown["status"]["executor_pid"] > 0
    assert shown["statistics"]["cpus_soft_limit"] == 0.1
    assert shown["statistics"]["mem_rss_bytes"] > 0
    assert set(shown) == set(recorded(257)[0])

    assert await page(http, f"/containers?container_id={shown['container_id']}")
    assert await page(http, "/containers?container_id=other") == []
    [brief] = await page(http, "/monitor/statistics")
    assert set(brief) == set(recorded(259)[0])
    [told] = (await call(http, "GET_CONTAINERS"))["get_containers"]["containers"]
    assert set(told) == set(recorded(331)["get_containers"]["containers"][0])
    assert told["container_id"]["value"] == shown["container_id"]


async def test_without_containers_the_reply_has_only_its_type(http: HttpConnection) -> None:
    assert await call(http, "GET_CONTAINERS") == {"type": "GET_CONTAINERS"}
    assert await page(http, "/containers") == []


@pytest.mark.parametrize("kind", LISTS)
async def test_lists_are_there_though_empty(http: HttpConnection, kind: str) -> None:
    found = (await call(http, kind))[kind.lower()]
    assert set(found) == LISTS[kind]
    assert not any(found.values())


async def test_tasks_and_executors_are_listed_by_how_far_they_are(http: HttpConnection, running: None) -> None:
    state = (await call(http, "GET_STATE"))["get_state"]
    assert set(state) == set(recorded(329)["get_state"])
    assert [task["name"] for task in state["get_tasks"]["launched_tasks"]] == ["long"]
    ended = state["get_tasks"]["terminated_tasks"] + state["get_tasks"]["completed_tasks"]
    assert [task["state"] for task in ended] == ["TASK_FAILED"]
    executors = state["get_executors"]["executors"]
    assert "long" in [one["executor_info"]["executor_id"]["value"] for one in executors]
    assert {one["executor_info"]["framework_id"]["value"] for one in executors} == {FRAMEWORK_ID}


async def test_metrics_have_mesos_names_and_count(http: HttpConnection, running: None) -> None:
    numbers = await page(http, "/metrics/snapshot")
    not_here = {
        "containerizer/mesos/provisioner/bind/remove_rootfs_errors",
        "containerizer/mesos/provisioner/remove_container_errors",
        "resource_provider_manager/events/disconnect",
        "resource_provider_manager/events/subscribe",
        "resource_provider_manager/subscribed",
    }
    assert recorded(261).keys() - set(numbers) <= not_here
    assert (numbers["slave/tasks_running"], numbers["slave/tasks_failed"]) == (1.0, 1.0)
    assert numbers["slave/cpus_used"] == 0.1
    text = (await http.request("GET", "/metrics")).body.decode()
    assert 'mesos_slave_tasks{state="running"} 1.0\n' in text
    assert "# TYPE mesos_slave_tasks_terminal counter\n" in text


async def test_the_level_of_the_log_is_raised_for_a_while(http: HttpConnection) -> None:
    assert (await http.request("GET", "/logging/toggle")).body == b"0\n"
    duration = {"nanoseconds": 60_000_000_000}
    assert await call(http, "SET_LOGGING_LEVEL", set_logging_level={"level": 2, "duration": duration}) is None
    assert (await call(http, "GET_LOGGING_LEVEL"))["get_logging_level"] == {"level": 2}
    assert (await http.request("GET", "/logging/toggle?level=0&duration=1mins")).status == 200
    assert (await http.request("GET", "/logging/toggle")).body == b"0\n"
    for query in (
        "level=1",
        "duration=1mins",
        "level=x&duration=1mins",
        "level=-1&duration=1mins",
        "level=1&duration=x",
    ):
        assert (await http.request("GET", f"/logging/toggle?{query}")).status == 400


async def test_the_log_is_among_the_files(flags: AgentFlags, master: InTestMaster, tmp_path: Path) -> None:
    log = tmp_path / "its.log"
    log.write_text("a line\n")
    with_log = dataclasses.replace(flags, external_log_file=str(log))
    async with running_agent(with_log, master) as agent, await HttpConnection.open(agent.address) as http:
        assert await page(http, "/files/read?path=/slave/log&offset=2") == {"data": "line\n", "offset": 2}
        assert await page(http, "/files/browse?path=/slave/log") == []
        assert (await page(http, "/files/debug"))["/slave/log"] == str(log)
        assert (await http.request("GET", "/files/read?path=/slave/log/x&offset=0")).status == 404
        assert (await page(http, "/state"))["external_log_file"] == str(log)


async def test_every_attached_sandbox_is_named(http: HttpConnection, running: None) -> None:
    attached = await page(http, "/files/debug")
    short = f"/frameworks/{FRAMEWORK_ID}/executors/long/runs/latest"
    assert attached[short].endswith(f"{short.removesuffix('latest')}{attached[short].rpartition('/')[2]}")
    assert f"/slaves/{AGENT_ID}/" in attached[short]


@pytest.mark.parametrize("kind", ["GET_STATE", "GET_AGENT", "LIST_FILES"])
async def test_a_stream_is_not_to_be_had_where_there_is_none(http: HttpConnection, kind: str) -> None:
    body = json.dumps({"type": kind, "list_files": {"path": "/"}}).encode()
    response = await http.request("POST", "/api/v1", JSON | {"Accept": "application/recordio"}, body)
    assert response.status == 406
    assert (await http.request("GET", "/health")).status == 200


async def test_what_comes_later_is_refused_by_name(http: HttpConnection) -> None:
    body = (
        b'{"type":"MARK_RESOURCE_PROVIDER_GONE","mark_resource_provider_gone":{"resource_provider_id":{"value":"x"}}}'
    )
    response = await http.request("POST", "/api/v1", JSON, body)
    assert (response.status, response.body) == (501, b"MARK_RESOURCE_PROVIDER_GONE is not supported here")
    assert await call(http, "PRUNE_IMAGES", prune_images={}) is None
