"""The executor client against the fake agent."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.client.fake_agent import EXECUTOR, FakeAgent
from tfmesos.client import (
    CallRejected,
    ExecutorClient,
    ExecutorEnvironment,
    ExecutorEnvironmentError,
    SubscriptionRejected,
)
from tfmesos.transport import TcpAddress, UnixAddress
from tfmesos.wire import executor_pb2, mesos_pb2

Event = executor_pb2.Event
RUNNING = mesos_pb2.TaskStatus(task_id=mesos_pb2.TaskID(value="t"), state=mesos_pb2.TASK_RUNNING)
ENVIRON = {
    "MESOS_FRAMEWORK_ID": "f",
    "MESOS_EXECUTOR_ID": "e",
    "MESOS_AGENT_ENDPOINT": "10.0.0.1:5051",
    "MESOS_DIRECTORY": "/sandbox",
}


@pytest.fixture
async def agent() -> AsyncIterator[FakeAgent]:
    agent = FakeAgent()
    await agent.start()
    yield agent
    await agent.close()


async def next_of(client: ExecutorClient, kind: Event.Type.ValueType) -> Event:
    async with asyncio.timeout(10):
        event = await anext(client)
    assert event.type == kind
    return event


async def wait_end(client: ExecutorClient) -> None:
    async with asyncio.timeout(10):
        with pytest.raises(StopAsyncIteration):
            await anext(client)


async def test_an_update_is_complete_and_acknowledged(agent: FakeAgent) -> None:
    async with ExecutorClient(agent.environment("/")) as client:
        await next_of(client, Event.SUBSCRIBED)

        client.update(RUNNING)

        status = await agent.next_status()
        assert (status.executor_id.value, status.source) == (EXECUTOR, mesos_pb2.TaskStatus.SOURCE_EXECUTOR)
        assert (len(status.uuid), status.timestamp > 0) == (16, True)
        await next_of(client, Event.ACKNOWLEDGED)
        assert not client.has_unacknowledged


async def test_updates_and_messages_arrive_in_order(agent: FakeAgent) -> None:
    async with ExecutorClient(agent.environment("/")) as client:
        await next_of(client, Event.SUBSCRIBED)
        for number in range(50):
            client.update(mesos_pb2.TaskStatus(task_id=RUNNING.task_id, state=RUNNING.state, message=str(number)))
            client.message(b"%d" % number)

        assert [(await agent.next_status()).message for _ in range(50)] == [str(number) for number in range(50)]
        assert [await agent.messages.get() for _ in range(50)] == [b"%d" % number for number in range(50)]


async def test_a_new_agent_is_told_what_was_not_acknowledged(agent: FakeAgent) -> None:
    agent.acknowledges = False
    async with ExecutorClient(agent.environment("/", checkpoint=True)) as client:
        await next_of(client, Event.SUBSCRIBED)
        subscriber = await agent.next_subscriber()
        task = mesos_pb2.TaskInfo(name="t", task_id=RUNNING.task_id, agent_id=mesos_pb2.AgentID(value="a"))
        subscriber.send(Event(type=Event.LAUNCH, launch=Event.Launch(task=task)))
        await next_of(client, Event.LAUNCH)
        client.update(RUNNING)
        first = await agent.next_status()

        await agent.restart()

        await next_of(client, Event.SUBSCRIBED)
        again = (await agent.next_subscriber()).call.subscribe
        assert [update.status for update in again.unacknowledged_updates] == [first]
        assert [info.task_id.value for info in again.unacknowledged_tasks] == ["t"]


async def test_what_was_acknowledged_is_not_told_again(agent: FakeAgent) -> None:
    async with ExecutorClient(agent.environment("/", checkpoint=True)) as client:
        await next_of(client, Event.SUBSCRIBED)
        await agent.next_subscriber()
        client.update(RUNNING)
        await next_of(client, Event.ACKNOWLEDGED)

        await agent.restart()

        await next_of(client, Event.SUBSCRIBED)
        assert not (await agent.next_subscriber()).call.subscribe.unacknowledged_updates


async def test_without_checkpointing_a_lost_agent_is_a_shutdown_with_its_grace(agent: FakeAgent) -> None:
    async with ExecutorClient(agent.environment("/", grace_s=0.05)) as client:
        await next_of(client, Event.SUBSCRIBED)

        await agent.close()

        await next_of(client, Event.SHUTDOWN)
        await wait_end(client)
        assert client.is_overdue


async def test_an_agent_that_does_not_return_in_time_is_a_shutdown(agent: FakeAgent) -> None:
    environment = agent.environment("/", checkpoint=True)._replace(recovery_timeout_s=0.1)
    async with ExecutorClient(environment) as client:
        await next_of(client, Event.SUBSCRIBED)

        await agent.close()

        await next_of(client, Event.SHUTDOWN)


async def test_after_a_shutdown_updates_still_go_out(agent: FakeAgent) -> None:
    async with ExecutorClient(agent.environment("/")) as client:
        await next_of(client, Event.SUBSCRIBED)
        (await agent.next_subscriber()).send(Event(type=Event.SHUTDOWN))
        await next_of(client, Event.SHUTDOWN)

        client.update(RUNNING)

        await next_of(client, Event.ACKNOWLEDGED)


async def test_who_leaves_has_said_all_but_waits_for_no_acknowledgement(agent: FakeAgent) -> None:
    agent.acknowledges = False
    async with ExecutorClient(agent.environment("/tmp")) as client:
        await next_of(client, Event.SUBSCRIBED)
        for _ in range(3):
            client.update(RUNNING)
        assert agent.current is not None
        agent.current.send(Event(type=Event.SHUTDOWN))
        await next_of(client, Event.SHUTDOWN)

        client.leave()

        await wait_end(client)
        assert agent.statuses.qsize() == 3
        assert not client.is_overdue


async def test_an_agent_that_recovers_is_asked_again(agent: FakeAgent) -> None:
    agent.answers.extend([(503, "Agent has not finished recovery"), (404, "")])
    async with ExecutorClient(agent.environment("/")) as client:
        await next_of(client, Event.SUBSCRIBED)


async def test_a_refused_subscription_is_an_error(agent: FakeAgent) -> None:
    agent.answers.append((400, "Framework cannot be found"))
    async with ExecutorClient(agent.environment("/")) as client:
        with pytest.raises(SubscriptionRejected, match=r"the agent refused the subscription \(400\): Framework cannot"):
            await anext(client)


@pytest.mark.parametrize(
    "answer", [(403, "Executor is not subscribed"), (404, ""), (503, "Agent has not finished recovery")]
)
async def test_an_update_that_reaches_a_restarted_agent_too_early_goes_with_the_next_subscription(
    agent: FakeAgent, answer: tuple[int, str]
) -> None:
    async with ExecutorClient(agent.environment("/", checkpoint=True)) as client:
        await next_of(client, Event.SUBSCRIBED)
        await agent.next_subscriber()
        agent.answers.append(answer)

        client.update(RUNNING)

        await next_of(client, Event.SUBSCRIBED)
        (update,) = (await agent.next_subscriber()).call.subscribe.unacknowledged_updates
        assert update.status.state == RUNNING.state
        await next_of(client, Event.ACKNOWLEDGED)
        assert not client.has_unacknowledged


async def test_a_refused_update_is_an_error(agent: FakeAgent) -> None:
    async with ExecutorClient(agent.environment("/")) as client:
        await next_of(client, Event.SUBSCRIBED)
        agent.answers.append((400, "no"))
        client.update(RUNNING)
        with pytest.raises(CallRejected, match=r"UPDATE refused \(400\): no"):
            await anext(client)


async def test_an_error_event_ends_the_iteration(agent: FakeAgent) -> None:
    async with ExecutorClient(agent.environment("/")) as client:
        await next_of(client, Event.SUBSCRIBED)
        (await agent.next_subscriber()).send(Event(type=Event.ERROR, error=Event.Error(message="no")))
        await next_of(client, Event.ERROR)
        await wait_end(client)


async def test_an_update_before_the_subscription_is_not_lost(agent: FakeAgent) -> None:
    agent.answers.append((503, ""))
    async with ExecutorClient(agent.environment("/")) as client:
        client.update(RUNNING)
        assert (await agent.next_status()).state == mesos_pb2.TASK_RUNNING


def test_the_environment_of_an_executor() -> None:
    environment = ExecutorEnvironment.from_environ(
        {**ENVIRON, "MESOS_CHECKPOINT": "1", "MESOS_RECOVERY_TIMEOUT": "2mins", "MESOS_SANDBOX": "/box"}
    )

    assert environment == ExecutorEnvironment(
        framework_id="f",
        executor_id="e",
        agent=TcpAddress("10.0.0.1", 5051),
        sandbox="/box",
        does_checkpoint=True,
        recovery_timeout_s=120,
    )


def test_an_agent_with_a_socket_for_executors_is_reached_by_it() -> None:
    assert ExecutorEnvironment.from_environ({**ENVIRON, "MESOS_DOMAIN_SOCKET": "/s"}).agent == UnixAddress("/s")


@pytest.mark.parametrize(
    ("variable", "value", "text"),
    [
        ("MESOS_EXECUTOR_ID", "", "MESOS_EXECUTOR_ID: it is not set; an agent sets it"),
        ("MESOS_AGENT_ENDPOINT", "here", "MESOS_AGENT_ENDPOINT: 'here' is not IP:PORT"),
        ("MESOS_SUBSCRIPTION_BACKOFF_MAX", "2", "MESOS_SUBSCRIPTION_BACKOFF_MAX: "),
    ],
)
def test_a_wrong_environment_is_named(variable: str, value: str, text: str) -> None:
    with pytest.raises(ExecutorEnvironmentError, match=text):
        ExecutorEnvironment.from_environ({**ENVIRON, variable: value})
