"""What is fetched, from where, and under which name."""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
import os
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.agent.fetcher.conftest import Order, Web, content, log, stall
from tests.agent.waiting import eventually
from tfmesos.agent import AgentFlags
from tfmesos.agent.fetch_program.uris import shown
from tfmesos.agent.fetcher import Fetcher, FetchFailed, FetchOrder
from tfmesos.agent.fetcher.items import basename
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

URI = mesos_pb2.CommandInfo.URI


def _mode(order: FetchOrder, name: str) -> int:
    return Path(order.sandbox, name).stat().st_mode & 0o777


async def test_files_come_by_path_by_uri_and_from_the_web(
    fetcher: Fetcher, order: Order, web: Web, tmp_path: Path
) -> None:
    (tmp_path / "one.txt").write_bytes(b"1")
    wanted = order(
        URI(value=str(tmp_path / "one.txt")),
        URI(value=f"file://{tmp_path}/one.txt", output_file="deep/two.txt"),
        URI(value=f"file://localhost{tmp_path}/one.txt", output_file="three.txt"),
        URI(value=web.serve("/d/four.txt?version=2", b"4")),
    )

    await fetcher.fetch(wanted)

    assert content(wanted) == {"one.txt": b"1", "deep/two.txt": b"1", "three.txt": b"1", "four.txt": b"4"}
    assert f"Fetched '{tmp_path}/one.txt' to '{wanted.sandbox}/one.txt'\n" in log(wanted)
    assert (fetcher.succeeded, fetcher.failed) == (1, 0)


async def test_a_relative_path_needs_a_home(order: Order, flags: AgentFlags, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "a").write_bytes(b"a")
    supervisors = Supervisors()
    with_home = Fetcher(dataclasses.replace(flags, frameworks_home=f"{tmp_path}/home"), supervisors, {})
    without = Fetcher(flags, supervisors, {})
    wanted, refused = order(URI(value="a")), order(URI(value="a"), name="d")

    await with_home.fetch(wanted)
    with pytest.raises(FetchFailed):
        await without.fetch(refused)

    assert content(wanted) == {"a": b"a"}
    assert "a relative path needs an agent with --frameworks_home" in log(refused)
    await supervisors.close()


async def test_an_executable_can_be_executed_and_is_not_extracted(fetcher: Fetcher, order: Order, web: Web) -> None:
    wanted = order(URI(value=web.serve("/run.gz", gzip.compress(b"x")), executable=True))

    await fetcher.fetch(wanted)

    assert list(content(wanted)) == ["run.gz"]
    assert _mode(wanted, "run.gz") == 0o755


async def test_redirects_are_followed_to_the_web_only(fetcher: Fetcher, order: Order, web: Web) -> None:
    web.serve("/there", b"here")
    moved = web.serve("/moved", b"", 302, Location="/there")
    escaping = web.serve("/escaping", b"", 302, Location="file:///etc/passwd")
    wanted, refused = order(URI(value=moved)), order(URI(value=escaping), name="d")

    await fetcher.fetch(wanted)
    with pytest.raises(FetchFailed):
        await fetcher.fetch(refused)

    assert content(wanted) == {"moved": b"here"}
    assert content(refused) == {}


@pytest.mark.parametrize("status", [404, 500, 204, 206])
async def test_only_200_is_a_file(fetcher: Fetcher, order: Order, web: Web, status: int) -> None:
    wanted = order(URI(value=web.serve("/f", b"" if status == 204 else b"x", status)))

    with pytest.raises(FetchFailed) as failed:
        await fetcher.fetch(wanted)

    reason = f"Failed to fetch '{web.url}/f': Error downloading resource, received HTTP return code {status}"
    assert str(failed.value) == f"Failed to fetch all URIs for container 'c': exited with status 1: {reason}"
    assert log(wanted).endswith(f"{reason}\n")
    assert content(wanted) == {}


@pytest.mark.parametrize(
    "rest", ["/f?key=topsecret", "/f#topsecret", "/f topsecret?x", "/x:topsecret@h/f", ":topsecret", "?topsecret"]
)
async def test_no_secret_is_told(fetcher: Fetcher, order: Order, web: Web, rest: str) -> None:
    scheme, _, host = web.url.partition("://")
    wanted = order(URI(value=f"{scheme}://me:topsecret@{host}{rest.replace(' ', chr(1))}", output_file="f"))

    with pytest.raises(FetchFailed) as failed:
        await fetcher.fetch(wanted)

    hidden = rest in ("/f topsecret?x", "/x:topsecret@h/f")  # a path is none
    assert ("topsecret" in str(failed.value) + log(wanted)) is hidden


@pytest.mark.parametrize("value", ["http://me:secret@host/", "ftp://me:secret@host/?secret"])
async def test_no_secret_is_told_of_a_uri_without_a_name(fetcher: Fetcher, order: Order, value: str) -> None:
    with pytest.raises(FetchFailed) as failed:
        await fetcher.fetch(order(URI(value=value)))

    assert "names no file" in str(failed.value)
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("https://me:pw@host:8080/a/b?key=1#x", "https://host:8080/a/b?..."),
        ("ftp://me@[::1]:21/a", "ftp://[::1]:21/a"),
        ("http://me:p/w@host/a", "http://..."),
        ("http://host/@scope/a", "http://host/@scope/a"),
        ("file:///a?b#c", "file:///a?b#c"),
        ("/a?b@c", "/a?b@c"),
    ],
)
def test_a_uri_is_shown_without_secrets(uri: str, text: str) -> None:
    assert shown(uri) == text


async def test_a_servers_words_reach_no_terminal(fetcher: Fetcher, order: Order, web: Web) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"\x1b[2Jnonsense\r\n\r\n")

    web.answers["/f"] = answer

    with pytest.raises(FetchFailed) as failed:
        await fetcher.fetch(order(URI(value=f"{web.url}/f")))

    assert "nonsense" in str(failed.value)
    assert str(failed.value).isprintable()


async def test_a_download_that_ends_early_fails(fetcher: Fetcher, order: Order, web: Web) -> None:
    wanted = order(URI(value=web.serve("/f", b"half", Content_Length="8")))

    with pytest.raises(FetchFailed):
        await fetcher.fetch(wanted)

    assert "the connection ended after 4 of 8 bytes" in log(wanted)


async def test_a_download_that_stalls_fails(fetcher: Fetcher, order: Order, web: Web) -> None:
    web.answers["/f"] = stall
    wanted = order(URI(value=f"{web.url}/f"))

    with pytest.raises(FetchFailed):
        await fetcher.fetch(wanted)

    assert "nothing came for 1 s" in log(wanted)


async def test_who_gives_up_ends_the_child(fetcher: Fetcher, order: Order, web: Web) -> None:
    web.answers["/f"] = stall
    wanted = order(URI(value=f"{web.url}/f"))
    fetching = asyncio.create_task(fetcher.fetch(wanted))
    await eventually(lambda: web.asked)

    fetching.cancel()

    with pytest.raises(asyncio.CancelledError):
        await fetching


async def test_a_name_and_password_are_used_and_not_told(fetcher: Fetcher, order: Order, web: Web) -> None:
    url = web.serve("/f", b"x").replace("http://", "http://me:s%3Acret@")
    wanted = order(URI(value=url))

    await fetcher.fetch(wanted)

    assert web.headers[0]["Authorization"] == "Basic bWU6czpjcmV0"
    assert "cret" not in log(wanted)


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        (URI(value="/a", output_file="../b"), "leaves the sandbox"),
        (URI(value="/a", output_file="/etc/b"), "leaves the sandbox"),
        (URI(value="http://host"), "names no file"),
        (URI(value=""), "is no URI"),
    ],
)
async def test_names_that_lead_out_are_refused_before_anything_runs(
    fetcher: Fetcher, order: Order, uri: mesos_pb2.CommandInfo.URI, text: str
) -> None:
    wanted = order(uri)

    with pytest.raises(FetchFailed, match=text):
        await fetcher.fetch(wanted)

    assert os.listdir(wanted.sandbox) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("hdfs://host/a", "the scheme 'hdfs' is not supported; it can be file, http, https or ftp"),
        ("/no/such", "there is no file '/no/such'"),
        ("file://a/b", "a file URI has the form file:///path"),
        ("http://127.0.0.1:1/a", "Connection refused"),
        ("http://[::1/a", "Error downloading resource"),
    ],
)
async def test_what_cannot_be_fetched_is_told(fetcher: Fetcher, order: Order, value: str, text: str) -> None:
    wanted = order(URI(value=value))

    with pytest.raises(FetchFailed, match="exited with status 1"):
        await fetcher.fetch(wanted)

    assert text in log(wanted)


async def test_nonsense_for_an_answer_is_told_in_one_line(fetcher: Fetcher, order: Order) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"nonsense\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        wanted = order(URI(value=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/a"))
        with pytest.raises(FetchFailed):
            await fetcher.fetch(wanted)

    assert log(wanted).endswith("Error downloading resource: BadStatusLine: nonsense\n")


async def test_https_takes_the_certificates_of_the_system_alone(fetcher: Fetcher, order: Order, web: Web) -> None:
    wanted = order(URI(value=web.url.replace("http:", "https:") + "/a"))

    with pytest.raises(FetchFailed):
        await fetcher.fetch(wanted)

    assert "Error downloading resource" in log(wanted)


async def test_a_large_file_is_streamed(fetcher: Fetcher, order: Order, tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as large:  # noqa: ASYNC230
        large.truncate(64 * 1024 * 1024)
    wanted = order(URI(value=str(tmp_path / "large")))

    await fetcher.fetch(wanted)

    assert os.stat(f"{wanted.sandbox}/large").st_size == 64 * 1024 * 1024


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("/a/b.tar", "b.tar"),
        ("b", "b"),
        ("http://h/a/b?x=/y#z", "b"),
        ("http://h", ""),
        ("http://h/", ""),
        ("file:///a/b?c", "b?c"),
        ("ftp://h/a/", "a"),
    ],
)
def test_the_name_is_the_last_step_of_the_path(uri: str, name: str) -> None:
    assert basename(uri) == name
