"""The nvidia-docker plugin (version 1), which said which parameters give a docker container its GPUs.

`GET http://HOST:3476/docker/cli?dev=GPU-a+GPU-b` answers with words for docker's command line:
`--volume-driver=nvidia-docker --volume=nvidia_driver_367.48:/usr/local/nvidia:ro --device=/dev/nvidiactl …`
"""

import asyncio
from collections.abc import Collection
from urllib.parse import quote

from tfmesos.errors import TfmesosError
from tfmesos.transport import HttpConnection, TcpAddress, TransportError

PORT = 3476
TIMEOUT_S = 5.0

Parameters = tuple[tuple[str, str], ...]


class PluginError(TfmesosError):
    """The plugin does not say how a container gets its GPUs: the task cannot have them."""


async def ask_parameters(host: str, cards: Collection[str], port: int = PORT) -> Parameters:
    """Docker's parameters, name and value, for these GPUs of a machine. Raises PluginError."""
    path = f"/docker/cli?dev={quote(' '.join(sorted(cards)))}"
    where = f"the nvidia-docker plugin at http://{host}:{port}"
    try:
        async with asyncio.timeout(TIMEOUT_S):
            connection = await HttpConnection.open(TcpAddress(host, port), TIMEOUT_S)
            try:
                answer = await connection.request("GET", path)
            finally:
                await connection.close()
    except TimeoutError:
        raise PluginError(f"{where} gives no answer in {TIMEOUT_S:g} s") from None
    except TransportError as error:
        raise PluginError(f"{where} cannot be asked: {error}") from error
    text = answer.body.decode(errors="replace").strip()
    if answer.status != 200:
        raise PluginError(f"{where} refuses the gpus {', '.join(sorted(cards))} with status {answer.status}: {text}")
    return parse_parameters(text, where)


def parse_parameters(text: str, where: str) -> Parameters:
    """The words of an answer. Raises PluginError for what is none of docker's, or nothing at all."""
    found = []
    for word in text.split():
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not name or not equals:
            raise PluginError(f"{where} answers {word!r}, which is no --NAME=VALUE")
        found.append((name, value))
    if not any(name == "device" for name, _ in found):
        raise PluginError(f"{where} names no device for the gpus")
    return tuple(found)
