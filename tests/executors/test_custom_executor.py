"""A custom executor with the executor client, on our own master and agent."""

from tests.executors.conftest import Framework
from tfmesos.wire import mesos_pb2, scheduler_pb2

Event = scheduler_pb2.Event
CUSTOM = mesos_pb2.ExecutorInfo.CUSTOM


async def test_it_runs_several_tasks_talks_with_its_framework_and_obeys(
    framework: Framework, echo_command: mesos_pb2.CommandInfo
) -> None:
    executor = framework.executor("echo", CUSTOM)
    executor.command.CopyFrom(echo_command)
    tasks = [framework.task(id_) for id_ in ("a", "b")]
    for task in tasks:
        task.executor.CopyFrom(executor)

    await framework.launch(*tasks)
    assert sorted(await framework.told(2)) == ["a TASK_RUNNING", "b TASK_RUNNING"]

    await framework.message("echo", b"hi")
    answer = await framework.next_event(lambda event: event.type == Event.MESSAGE)
    assert answer.message.data == b"echo hi"

    await framework.message("echo", b"finish")
    assert await framework.told() == ["a TASK_FINISHED"]
    await framework.client.kill(mesos_pb2.TaskID(value="b"))
    assert await framework.told() == ["b TASK_KILLED"]

    await framework.shut_down("echo")
    failure = await framework.next_event(lambda event: event.type == Event.FAILURE)
    assert (failure.failure.executor_id.value, failure.failure.status) == ("echo", 0)
