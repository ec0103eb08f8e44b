"""The agent's HTTP endpoints."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.agent.in_test_master import AGENT_ID, FRAMEWORK_ID, InTestMaster, command_task
from tfmesos.agent import Agent, AgentFlags
from tfmesos.transport import HttpConnection, HttpResponse
from tfmesos.wire import agent_pb2, mesos_pb2

JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf", "Accept": "application/x-protobuf"}
LINES = "".join(f"line {number}\n" for number in range(10))
RUN = f"/frameworks/{FRAMEWORK_ID}/executors/lines/runs/latest"


def real(path: Path) -> Path:
    return path.resolve()


@pytest.fixture
async def sandbox(agent: Agent, master: InTestMaster, flags: AgentFlags) -> Path:
    """Of a task that has printed ten lines."""
    master.run(
        command_task(
            "lines", f"printf '{LINES}'; mkdir folder; mkfifo pipe; ln -s /etc/passwd outside; printf '\\377' > odd"
        )
    )
    status = await master.wait_for_end("lines")
    assert status.state == mesos_pb2.TASK_FINISHED
    return real(Path(flags.work_dir, "slaves", AGENT_ID, RUN[1:]))


async def get_json(http: HttpConnection, path: str) -> Any:
    response = await http.request("GET", path)
    assert response.status == 200, response
    assert response.headers["content-type"] == "application/json"
    return json.loads(response.body)


async def call(http: HttpConnection, message: object, headers: dict[str, str] | None = None) -> HttpResponse:
    return await http.request("POST", "/api/v1", {**JSON, **(headers or {})}, json.dumps(message).encode())


def read_call(path: str, offset: int = 0, length: int | None = None) -> bytes:
    made = agent_pb2.Call(type=agent_pb2.Call.READ_FILE)
    made.read_file.path = path
    made.read_file.offset = offset
    if length is not None:
        made.read_file.length = length
    return made.SerializeToString()


@pytest.mark.parametrize("prefix", ["", "/slave(1)"])
async def test_state_tells_of_the_agent(http: HttpConnection, agent: Agent, prefix: str) -> None:
    state = await get_json(http, f"{prefix}/state")

    assert state["id"] == AGENT_ID
    assert state["pid"] == f"slave(1)@{agent.address}"
    assert state["hostname"] == "here"
    assert state["version"] == "1.11.0"
    assert state["resources"] == {"cpus": 4.0, "gpus": 0.0, "mem": 4096.0, "disk": 1024.0, "ports": "[31000-32000]"}
    assert state["attributes"] == {"rack": "a", "level": 3.0}
    assert state["flags"]["hostname"] == "here"
    assert state["frameworks"] == []


async def test_state_has_the_keys_of_a_stock_agent(http: HttpConnection) -> None:
    recorded = Path(__file__).parents[2] / "golden/transcripts/operator/251-agent-to-client-200.json"
    not_known_here = {"git_sha", "git_tag", "log_dir"}

    state = await get_json(http, "/state")

    assert set(state) == set(json.loads(recorded.read_text())) - not_known_here


async def test_state_tells_of_tasks(http: HttpConnection, master: InTestMaster, sandbox: Path) -> None:
    master.run(command_task("long", "exec sleep 1000"))
    await master.wait_for_state("long", mesos_pb2.TASK_RUNNING)

    (framework,) = (await get_json(http, "/state"))["frameworks"]

    (executor,) = framework["executors"]
    assert framework["id"] == FRAMEWORK_ID
    assert executor["name"] == "Command Executor (Task: long) (Command: sh -c 'exec sleep 1000')"
    assert executor["directory"].startswith(str(Path(sandbox).parents[3]))
    assert executor["tasks"][0]["state"] == "TASK_RUNNING"
    assert executor["tasks"][0]["resources"]["cpus"] == 0.1
    assert [status["state"] for status in executor["tasks"][0]["statuses"]] == ["TASK_STARTING", "TASK_RUNNING"]
    used = (await get_json(http, "/metrics/snapshot"))["slave/cpus_used"]
    assert used == 0.1


async def test_small_endpoints(http: HttpConnection) -> None:
    assert (await http.request("GET", "/health")).status == 200
    assert (await get_json(http, "/version"))["version"] == "1.11.0"
    assert (await get_json(http, "/flags"))["flags"]["port"] == "0"
    assert (await get_json(http, "/metrics/snapshot"))["slave/registered"] == 1.0
    nothing = await http.request("GET", "/nothing")
    assert (nothing.status, nothing.body) == (404, b"404 Not Found.")
    response = await http.request("GET", "/version?jsonp=cb")
    assert response.headers["content-type"] == "text/javascript"
    assert response.body.startswith(b'cb({"version"')


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("", {"data": "", "offset": 70}),
        ("&offset=-1", {"data": "", "offset": 70}),
        ("&offset=0", {"data": LINES, "offset": 0}),
        ("&offset=0&length=-1", {"data": LINES, "offset": 0}),
        ("&offset=7&length=7", {"data": "line 1\n", "offset": 7}),
        ("&offset=1000&length=100", {"data": "", "offset": 1000}),
    ],
)
async def test_files_are_read_in_pieces(
    http: HttpConnection, sandbox: Path, query: str, answer: dict[str, object]
) -> None:
    for path in (f"{sandbox}/stdout", f"{RUN}/stdout"):
        assert await get_json(http, f"/files/read?path={path}{query}") == answer


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/files/read?path={run}/stdout&offset=-2", 400, "Negative offset provided: -2.\n"),
        ("/files/read?path={run}/stdout&offset=0&length=-2", 400, "Negative length provided: -2.\n"),
        ("/files/read?path={run}/stdout&offset=x", 400, "Failed to parse offset: Failed to convert 'x' to number.\n"),
        (
            f"/files/read?path={{run}}/stdout&offset={'9' * 5000}",
            400,
            f"Failed to parse offset: Failed to convert '{'9' * 5000}' to number.\n",
        ),
        ("/files/read?path={run}/stdout%00", 404, ""),
        ("/files/browse?path=%00", 404, ""),
        ("/files/read?path={run}", 400, "Cannot read a directory.\n"),
        ("/files/read?offset=0", 400, "Expecting 'path=value' in query.\n"),
        ("/files/read?path={run}/nothing", 404, ""),
        ("/files/read?path={run}/outside", 400, "'{run}/outside' is inaccessible.\n"),
        ("/files/read?path={run}/../../../stdout", 400, "'{run}/../../../stdout' is inaccessible.\n"),
        ("/files/read?path={work_dir}/agent.lock", 404, ""),
        ("/files/read?path=/etc/passwd", 404, ""),
        ("/files/read?path=/frameworks/../../x/executors/y/runs/z/a", 404, ""),
        ("/files/read?path={run}/pipe", 400, "'{run}/pipe' is no regular file.\n"),
        ("/files/download?path={run}/pipe", 400, "'{run}/pipe' is no regular file.\n"),
        ("/files/browse", 400, "Expecting 'path=value' in query.\n"),
        ("/files/browse?path=/nothing", 404, ""),
        ("/files/download?path={run}", 400, "Cannot download a directory.\n"),
    ],
)
async def test_what_is_not_served(
    http: HttpConnection, sandbox: Path, flags: AgentFlags, path: str, status: int, text: str
) -> None:
    names = {"run": str(sandbox), "work_dir": flags.work_dir}

    response = await http.request("GET", path.format(**names))

    assert (response.status, response.body.decode()) == (status, text.format(**names))


async def test_folders_are_listed(http: HttpConnection, sandbox: Path) -> None:
    entries = await get_json(http, f"/files/browse?path={RUN}")

    assert [entry["path"] for entry in entries] == [
        f"{RUN}/{name}" for name in ("folder", "odd", "outside", "pipe", "stderr", "stdout")
    ]
    stdout = entries[-1]
    assert (stdout["size"], stdout["mode"], stdout["nlink"]) == (70, "-rw-r--r--", 1)
    assert set(stdout) == {"gid", "mode", "mtime", "nlink", "path", "size", "uid"}


async def test_files_are_downloaded(http: HttpConnection, sandbox: Path) -> None:
    response = await http.request("GET", f"/files/download?path={RUN}/stdout")

    assert response.body.decode() == LINES
    assert response.headers["content-disposition"] == "attachment; filename=stdout"
    assert response.headers["content-type"] == "application/octet-stream"


async def test_read_file_gives_the_exact_bytes(http: HttpConnection, sandbox: Path) -> None:
    response = await http.request("POST", "/slave(1)/api/v1", PROTOBUF, read_call(f"{RUN}/odd"))

    answer = agent_pb2.Response.FromString(response.body)
    assert response.headers["content-type"] == "application/x-protobuf"
    assert (answer.type, answer.read_file.size, answer.read_file.data) == (agent_pb2.Response.READ_FILE, 1, b"\xff")


async def test_read_file_gives_at_most_sixteen_pages(http: HttpConnection, sandbox: Path) -> None:
    (sandbox / "large").write_bytes(bytes(100_000))

    response = await http.request("POST", "/api/v1", PROTOBUF, read_call(f"{RUN}/large", length=100_000))

    answer = agent_pb2.Response.FromString(response.body)
    assert (answer.read_file.size, len(answer.read_file.data)) == (100_000, 65_536)


async def test_list_files(http: HttpConnection, sandbox: Path) -> None:
    response = await call(http, {"type": "LIST_FILES", "list_files": {"path": RUN}})

    infos = json.loads(response.body)["list_files"]["file_infos"]
    assert infos[-1]["path"] == f"{RUN}/stdout"
    assert infos[-1]["mode"] == 0o100644
    assert infos[-1]["mtime"]["nanoseconds"] > 0


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"/files/browse?path={RUN}", b""),
        ("POST", "/api/v1", json.dumps({"type": "LIST_FILES", "list_files": {"path": RUN}}).encode()),
    ],
)
async def test_a_directory_is_listed_beside_the_event_loop(
    http: HttpConnection, sandbox: Path, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: bytes
) -> None:
    # given a directory that takes long to list
    listdir, go = os.listdir, threading.Event()

    def wait_and_list(directory: str) -> list[str]:
        go.wait(30.0)
        return listdir(directory)

    monkeypatch.setattr(os, "listdir", wait_and_list)
    listing = asyncio.create_task(http.request(method, path, JSON, body))
    # when others ask meanwhile, then they are answered
    async with await HttpConnection.open(http.address) as other:
        assert (await other.request("GET", "/health")).status == 200
    assert not listing.done()
    go.set()
    assert b'"path":' in (await listing).body


async def test_calls_that_need_no_more(http: HttpConnection, sandbox: Path) -> None:
    async def answer(kind: str, **more: object) -> Any:
        response = await call(http, {"type": kind, **more})
        assert response.status == 200, response
        return json.loads(response.body)[kind.lower()]

    assert await answer("GET_HEALTH") == {"healthy": True}
    assert (await answer("GET_VERSION"))["version_info"]["version"] == "1.11.0"
    assert {"name": "hostname", "value": "here"} in (await answer("GET_FLAGS"))["flags"]
    assert (await answer("GET_METRICS", get_metrics={}))["metrics"]
    assert (await answer("GET_AGENT"))["agent_info"]["id"] == {"value": AGENT_ID}
    assert "checkpoint" not in (await answer("GET_AGENT"))["agent_info"]
    assert await answer("GET_FRAMEWORKS") is not None
    assert await answer("GET_TASKS") is not None
    assert set(await answer("GET_STATE")) == {"get_executors", "get_frameworks", "get_tasks"}


@pytest.mark.parametrize(
    ("headers", "body", "status", "text"),
    [
        ({}, b"", 400, "Expecting 'Content-Type' to be present"),
        (
            {"Content-Type": "text/plain"},
            b"",
            415,
            "Expecting 'Content-Type' of application/json or application/x-protobuf or application/recordio",
        ),
        (JSON, b"", 400, "Failed to parse body into JSON: syntax error at line 1 near: "),
        (JSON, b"{}", 400, "Failed to validate agent::Call: Expecting 'type' to be present"),
        (JSON, b'{"type":"NO_SUCH"}', 400, "Failed to validate agent::Call: Expecting 'type' to be present"),
        (JSON, b'{"type":"UNKNOWN"}', 501, "501 Not Implemented."),
        (JSON, b'{"type":"READ_FILE"}', 400, "Failed to validate agent::Call: Expecting 'read_file' to be present"),
        (JSON, b'{"type":"GET_METRICS"}', 400, "Failed to validate agent::Call: Expecting 'get_metrics' to be present"),
        ({"Content-Type": "application/x-protobuf"}, b"\xff", 400, "Failed to parse body into Call protobuf"),
        (
            {**JSON, "Accept": "text/html"},
            b'{"type":"GET_HEALTH"}',
            406,
            "Expecting 'Accept' to allow application/json or application/x-protobuf or application/recordio",
        ),
        (JSON, b'{"type":"READ_FILE","read_file":{"path":"/nothing","offset":0}}', 404, ""),
    ],
)
async def test_wrong_calls_get_mesos_answers(
    http: HttpConnection, headers: dict[str, str], body: bytes, status: int, text: str
) -> None:
    response = await http.request("POST", "/api/v1", headers, body)

    assert (response.status, response.body.decode()) == (status, text)


async def test_a_call_must_be_posted(http: HttpConnection) -> None:
    response = await http.request("GET", "/api/v1")

    assert response.status == 405
    assert response.headers["allow"] == "POST"
    assert response.body.decode() == "405 Method Not Allowed. Expecting one of { 'POST' }, but received 'GET'."
