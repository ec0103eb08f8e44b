"""GPUs before Mesos 1.0: a SET of names in the offers, given to docker containers by NVIDIA's plugin."""

from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random

import pytest
from aiohttp import web

from tests.launcher.builders import offer, wishes
from tfmesos.launcher.nvidia_plugin import PluginError, ask_parameters
from tfmesos.launcher.placement import place
from tfmesos.launcher.survey import build_survey, explain
from tfmesos.transport import HttpServer, TcpAddress, reply
from tfmesos.wire import mesos_pb2

OFFERED = "cpus:8;mem:9000;gpus:{GPU-a,GPU-b,GPU-c};ports:[1-9]"


def test_each_task_takes_its_own_cards_of_a_set() -> None:
    placed = place(wishes(count=2, gpus=1), [offer("1", OFFERED)], "*", Random(1))

    assert placed is not None
    assert [task.cards for task in placed] == [{"GPU-a"}, {"GPU-b"}]
    (gpus,) = (one for one in placed[0].resources.to_proto() if one.name == "gpus")
    assert (gpus.type, list(gpus.set.item)) == (mesos_pb2.Value.SET, ["GPU-a"])


def test_more_cards_than_a_set_has_are_not_placed() -> None:
    assert place(wishes(gpus=4), [offer("1", OFFERED)], "*", Random(1)) is None
    assert place(wishes(count=2, gpus=2), [offer("1", OFFERED)], "*", Random(1)) is None


def test_tasks_without_gpus_take_none_of_a_set() -> None:
    placed = place(wishes(), [offer("1", OFFERED)], "*", Random(1))

    assert placed is not None
    assert placed[0].cards == frozenset()


def test_a_shortage_counts_the_cards_of_a_set() -> None:
    agent = {"id": "a", "resources": {"cpus": 8, "mem": 9000, "gpus": "{GPU-a, GPU-b}", "ports": "[1-9]"}}

    shortage = explain(wishes(gpus=3), build_survey({"slaves": [agent]}, "*", ["a"]))

    assert "needs 3 gpus, largest possible 2" in shortage.text


# -- the plugin

Answer = tuple[int, str]
StartPlugin = Callable[[Answer], Awaitable[int]]
ANSWER = (
    "--volume-driver=nvidia-docker --volume=nvidia_driver_367.48:/usr/local/nvidia:ro "
    "--device=/dev/nvidiactl --device=/dev/nvidia-uvm --device=/dev/nvidia0\n"
)


@pytest.fixture
async def start_plugin() -> AsyncIterator[StartPlugin]:
    """A plugin that answers so; returns its port."""
    servers: list[HttpServer] = []

    async def start(answer: Answer) -> int:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            asked = request.path == "/docker/cli" and request.query["dev"] == "GPU-a GPU-b"
            return reply(*answer) if asked else reply(404, "not found")

        servers.append(await HttpServer.start(handle, TcpAddress("127.0.0.1", 0)))
        assert isinstance(servers[-1].address, TcpAddress)
        return servers[-1].address.port

    yield start
    for server in servers:
        await server.close()


async def test_the_plugin_says_which_parameters_docker_needs(start_plugin: StartPlugin) -> None:
    port = await start_plugin((200, ANSWER))

    assert await ask_parameters("127.0.0.1", {"GPU-b", "GPU-a"}, port) == (
        ("volume-driver", "nvidia-docker"),
        ("volume", "nvidia_driver_367.48:/usr/local/nvidia:ro"),
        ("device", "/dev/nvidiactl"),
        ("device", "/dev/nvidia-uvm"),
        ("device", "/dev/nvidia0"),
    )


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((500, "no such device"), "refuses the gpus GPU-a, GPU-b with status 500: no such device"),
        ((200, "--privileged"), "answers '--privileged', which is no --NAME=VALUE"),
        ((200, "nonsense"), "answers 'nonsense'"),
        ((200, ""), "names no device for the gpus"),
    ],
)
async def test_a_plugin_that_gives_no_gpus_is_an_error_that_names_it(
    start_plugin: StartPlugin, answer: Answer, text: str
) -> None:
    port = await start_plugin(answer)

    with pytest.raises(PluginError, match=f"^the nvidia-docker plugin at http://127.0.0.1:{port} {text}"):
        await ask_parameters("127.0.0.1", {"GPU-a", "GPU-b"}, port)


async def test_an_agent_without_the_plugin_is_an_error() -> None:
    with pytest.raises(PluginError, match=r"plugin at http://127.0.0.1:1 cannot be asked: .*refused"):
        await ask_parameters("127.0.0.1", {"GPU-a"}, 1)
