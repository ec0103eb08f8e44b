"""GPUs before Mesos 1.0: a SET of names in the offers, given to docker containers by NVIDIA's plugin."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random

import pytest
from aiohttp import web

from tests.client.fake_master import FakeMaster
from tests.launcher.builders import offer, wishes
from tests.launcher.conftest import Written, outcome_of
from tfmesos.discovery import build_detector
from tfmesos.launcher import ContainerOptions, Job, JobRun, RunOptions
from tfmesos.launcher.nvidia_plugin import PORT, PluginError, ask_parameters
from tfmesos.launcher.placement import place
from tfmesos.launcher.survey import build_survey, explain
from tfmesos.resources import Resources
from tfmesos.transport import HttpServer, TcpAddress, reply
from tfmesos.wire import mesos_pb2, scheduler_pb2

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
StartPlugin = Callable[..., Awaitable[int]]
Call = scheduler_pb2.Call
ANSWER = (
    "--volume-driver=nvidia-docker --volume=nvidia_driver_367.48:/usr/local/nvidia:ro "
    "--device=/dev/nvidiactl --device=/dev/nvidia-uvm --device=/dev/nvidia0\n"
)


@pytest.fixture
async def start_plugin() -> AsyncIterator[StartPlugin]:
    """A plugin that answers so; returns its port."""
    servers: list[HttpServer] = []

    async def start(answer: Answer, host: str = "127.0.0.1", port: int = 0) -> int:
        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            asked = request.path == "/docker/cli" and request.query["dev"] == "GPU-a GPU-b"
            return reply(*answer) if asked else reply(404, "not found")

        servers.append(await HttpServer.start(handle, TcpAddress(host, port)))
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


# -- a job on such a master


@pytest.fixture
async def old() -> AsyncIterator[FakeMaster]:
    """A master of Mesos 0.28, as far as a job hears of it."""
    fake = FakeMaster(version="0.28.2")
    await fake.start()
    yield fake
    await fake.close()


def offers_of(host: str, name: str) -> scheduler_pb2.Event:
    offered = mesos_pb2.Offer(hostname="node7", resources=Resources.parse(OFFERED).to_proto("pre"))
    offered.id.value, offered.framework_id.value, offered.agent_id.value = name, "f", "a"
    offered.url.scheme, offered.url.address.ip, offered.url.address.port = "http", host, 5051
    return scheduler_pb2.Event(type=scheduler_pb2.Event.OFFERS, offers=scheduler_pb2.Event.Offers(offers=[offered]))


async def heard(master: FakeMaster, *kinds: "scheduler_pb2.Call.Type.ValueType") -> scheduler_pb2.Call:
    """The next call of one of these kinds."""
    async with asyncio.timeout(20):
        while True:
            call = await master.heard.get()
            if call.type in kinds:
                return call


def job_on(master: FakeMaster) -> JobRun:
    job = Job("worker", 1, gpus=2, cmd="true")
    options = RunOptions(jobs=(job,), framework_name="x", container=ContainerOptions(image="tf:1"))
    return JobRun(options, build_detector(master.address), output=Written())


async def test_a_gpu_job_runs_in_docker_with_what_the_plugin_says(old: FakeMaster, start_plugin: StartPlugin) -> None:
    host = "127.0.7.7"
    await start_plugin((200, ANSWER), host, PORT)
    run = job_on(old)
    starting = asyncio.create_task(outcome_of(run))
    framework = await old.subscribed.get()

    framework.send(offers_of(host, "o1"))
    accept = (await heard(old, Call.ACCEPT)).accept

    (info,) = accept.operations[0].launch.task_infos
    assert not old.infos[0].capabilities
    assert [list(one.set.item) for one in info.resources if one.name == "gpus"] == [["GPU-a", "GPU-b"]]
    assert (info.container.type, info.container.docker.image) == (mesos_pb2.ContainerInfo.DOCKER, "tf:1")
    assert ("device", "/dev/nvidia0") in [(one.key, one.value) for one in info.container.docker.parameters]
    status = mesos_pb2.TaskStatus(task_id=info.task_id, state=mesos_pb2.TASK_FINISHED)
    framework.send(
        scheduler_pb2.Event(type=scheduler_pb2.Event.UPDATE, update=scheduler_pb2.Event.Update(status=status))
    )
    assert (await starting).exit_status == 0


async def test_a_gpu_job_without_the_plugin_fails_and_never_runs(old: FakeMaster) -> None:
    run = job_on(old)
    starting = asyncio.create_task(outcome_of(run))
    framework = await old.subscribed.get()

    for attempt in range(3):
        framework.send(offers_of("127.0.7.8", f"o{attempt}"))
        assert list((await heard(old, Call.DECLINE)).decline.offer_ids) == [mesos_pb2.OfferID(value=f"o{attempt}")]

    outcome = await starting
    assert outcome.exit_status == 1
    assert "worker:0 failed on agent node7" in outcome.text
    assert "the nvidia-docker plugin at http://127.0.7.8:3476 cannot be asked" in outcome.text
    assert not [call for call in old.calls if call.type == Call.ACCEPT]


async def test_an_agent_without_the_plugin_is_an_error() -> None:
    with pytest.raises(PluginError, match=r"plugin at http://127.0.0.1:1 cannot be asked: .*refused"):
        await ask_parameters("127.0.0.1", {"GPU-a"}, 1)
