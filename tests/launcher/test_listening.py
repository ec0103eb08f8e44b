"""Waiting for servers."""

import asyncio

from tfmesos.launcher.addresses import TaskAddress
from tfmesos.launcher.listening import wait_listening


def address(port: int) -> TaskAddress:
    return TaskAddress(job="ps", index=0, host="127.0.0.1", port=port)


async def _serve(port: int = 0) -> asyncio.Server:
    return await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", port)


def port_of(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])


async def test_it_returns_once_every_server_accepts() -> None:
    first, second = await _serve(), await _serve()
    late = port_of(second)
    second.close()
    await second.wait_closed()

    waiting = asyncio.create_task(wait_listening(lambda: [address(port_of(first)), address(late)]))
    done, _ = await asyncio.wait({waiting}, timeout=0.1)
    assert not done
    second = await _serve(late)
    await asyncio.wait_for(waiting, 10)

    for server in (first, second):
        server.close()
        await server.wait_closed()


async def test_a_gang_that_was_placed_anew_is_waited_for_at_its_new_addresses() -> None:
    server = await _serve()
    gone = await _serve()
    places = [address(port_of(gone))]
    gone.close()
    await gone.wait_closed()

    waiting = asyncio.create_task(wait_listening(lambda: tuple(places)))
    await asyncio.sleep(0)
    places[:] = [address(port_of(server))]
    await asyncio.wait_for(waiting, 10)

    server.close()
    await server.wait_closed()
