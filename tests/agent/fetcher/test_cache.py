"""What several tasks share."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.agent.fetcher.conftest import Order, Web, content, log, stall
from tests.agent.waiting import eventually
from tfmesos.agent.fetcher import Fetcher, FetchFailed
from tfmesos.wire import mesos_pb2

URI = mesos_pb2.CommandInfo.URI


async def test_a_cached_uri_is_asked_for_once(fetcher: Fetcher, order: Order, web: Web) -> None:
    uri = URI(value=web.serve("/f", b"x" * 1000), cache=True)
    orders = [order(uri, name=f"c{number}") for number in range(5)]

    await asyncio.gather(*map(fetcher.fetch, orders))

    assert web.asked == ["/f"]
    assert [content(item) for item in orders] == [{"f": b"x" * 1000}] * 5
    assert fetcher.cache.used == 1000


async def test_what_was_used_longest_ago_makes_room(fetcher: Fetcher, order: Order, web: Web) -> None:
    uris = [URI(value=web.serve(f"/{name}", b"x" * 400_000), cache=True) for name in "abc"]
    for uri in uris:
        await fetcher.fetch(order(uri, name=f"first{uri.value[-1]}"))
    assert fetcher.cache.used == 800_000

    await fetcher.fetch(order(uris[2], name="again-c"))
    await fetcher.fetch(order(uris[0], name="again-a"))

    assert web.asked == ["/a", "/b", "/c", "/a"]


async def test_what_is_larger_than_the_cache_is_fetched_without_it(fetcher: Fetcher, order: Order, web: Web) -> None:
    wanted = order(URI(value=web.serve("/f", b"x" * 1_000_001), cache=True))

    await fetcher.fetch(wanted)

    assert len(content(wanted)["f"]) == 1_000_001
    assert fetcher.cache.used == 0


async def test_a_failure_is_not_remembered(fetcher: Fetcher, order: Order, web: Web) -> None:
    uri = URI(value=f"{web.url}/f", cache=True)
    refused = order(uri, name="refused")
    with pytest.raises(FetchFailed):
        await fetcher.fetch(refused)
    assert "received HTTP return code 404" in log(refused)

    web.serve("/f", b"now")
    await fetcher.fetch(order(uri))


async def test_one_who_gives_up_does_not_end_the_download_of_others(fetcher: Fetcher, order: Order, web: Web) -> None:
    web.answers["/f"] = stall
    uri = URI(value=f"{web.url}/f", cache=True)
    first = asyncio.create_task(fetcher.fetch(order(uri, name="first")))
    second = asyncio.create_task(fetcher.fetch(order(uri, name="second")))
    await eventually(lambda: web.asked)

    first.cancel()
    await asyncio.wait([first])
    assert not second.done()
    second.cancel()
    await asyncio.wait([second])

    assert web.asked == ["/f"]


async def test_a_cache_that_others_could_write_into_is_not_used(
    fetcher: Fetcher, order: Order, web: Web, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    os.mkdir(tmp_path / "cache")
    os.chmod(tmp_path / "cache", 0o777)
    uri = URI(value=web.serve("/f", b"x"), cache=True)

    await fetcher.fetch(order(uri, name="one"))
    await fetcher.fetch(order(uri, name="two"))

    assert web.asked == ["/f", "/f"]
    assert "nothing is cached" in caplog.text
    assert os.listdir(tmp_path / "cache") == []


async def test_nothing_of_the_cache_is_left(fetcher: Fetcher, order: Order, web: Web, tmp_path: Path) -> None:
    await fetcher.fetch(order(URI(value=web.serve("/f", b"x"), cache=True)))
    assert os.listdir(tmp_path / "cache")

    await fetcher.close()

    assert os.listdir(tmp_path / "cache") == []
