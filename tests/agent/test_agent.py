"""The agent as its master sees it."""

from __future__ import annotations

import asyncio
import logging
import os
import pwd
import signal
import stat
from pathlib import Path

import pytest

from tests.agent.conftest import running_agent
from tests.agent.in_test_master import (
    AGENT_ID,
    FRAMEWORK_ID,
    KILLING_STATE,
    PARTITION_AWARE,
    FixedDetector,
    InTestMaster,
    command_task,
    framework,
    in_test_master,
)
from tests.agent.waiting import eventually
from tfmesos.agent import Agent, AgentFlags, AgentStopped, BadAgentFlags, WorkDirInUse
from tfmesos.agent.containerizer.spawner import Spawner
from tfmesos.discovery import build_detector
from tfmesos.transport import BindError, TcpAddress, UnixAddress
from tfmesos.wire import internal_pb2, mesos_pb2

_Status = mesos_pb2.TaskStatus
Registered = internal_pb2.RegisterSlaveMessage
Reregistered = internal_pb2.ReregisterSlaveMessage


def sandbox(flags: AgentFlags, task_id: str) -> Path:
    return Path(flags.work_dir, "slaves/latest/frameworks", FRAMEWORK_ID, "executors", task_id, "runs/latest")


def printed_by(task_id: str, flags: AgentFlags) -> str:
    return (sandbox(flags, task_id) / "stdout").read_text().strip()


def lives(pid: str) -> bool:
    return Path("/proc", pid).exists()


async def output_of(master: InTestMaster, flags: AgentFlags, task: mesos_pb2.TaskInfo) -> str:
    """What a task prints, once it has finished."""
    master.run(task)
    status = await master.wait_for_end(task.task_id.value)
    assert status.state == mesos_pb2.TASK_FINISHED, status
    return (sandbox(flags, task.task_id.value) / "stdout").read_text()


async def test_registers_with_what_it_offers(agent: Agent, master: InTestMaster) -> None:
    message = await master.wait_for(Registered)

    assert message.version == "1.11.0"
    assert message.slave.hostname == "here"
    assert message.slave.checkpoint
    assert isinstance(agent.address, TcpAddress)
    assert message.slave.port == agent.address.port
    assert {resource.name: resource.role for resource in message.slave.resources} == {
        "cpus": "*",
        "mem": "*",
        "disk": "*",
        "ports": "*",
    }
    assert [attribute.name for attribute in message.slave.attributes] == ["rack", "level"]
    assert mesos_pb2.AgentInfo.Capability.MULTI_ROLE in [item.type for item in message.agent_capabilities]
    update = await master.wait_for(internal_pb2.UpdateSlaveMessage)
    assert update.slave_id.value == AGENT_ID
    assert update.resource_version_uuid == message.resource_version_uuid
    assert len(message.resource_version_uuid.value) == 16


async def test_runs_a_command_to_its_end(agent: Agent, master: InTestMaster, flags: AgentFlags) -> None:
    master.run(command_task("hello", "echo hello"))
    await master.wait_for_end("hello")

    updates = master.updates("hello")
    assert [mesos_pb2.TaskState.Name(update.status.state) for update in updates] == [
        "TASK_STARTING",
        "TASK_RUNNING",
        "TASK_FINISHED",
    ]
    for update in updates:
        status = update.status
        assert update.uuid == status.uuid
        assert len(status.uuid) == 16
        assert (update.executor_id.value, status.executor_id.value) == ("hello", "hello")
        assert (update.slave_id.value, status.agent_id.value) == (AGENT_ID, AGENT_ID)
        assert status.source == _Status.SOURCE_EXECUTOR
        assert not status.HasField("reason")
        assert status.container_status.executor_pid > 0
        assert status.container_status.network_infos[0].ip_addresses[0].ip_address == "127.0.0.1"
    assert updates[-1].status.message == "Command exited with status 0"
    run = sandbox(flags, "hello").resolve()
    assert run.name == updates[0].status.container_status.container_id.value
    assert stat.S_IMODE(run.stat().st_mode) == 0o750
    assert (run / "stdout").read_text() == "hello\n"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("exit 7", "Command exited with status 7"),
        ("no-such-program-here", "Command exited with status 127"),
        ("kill -KILL $$", "Command terminated with signal Killed"),
    ],
)
async def test_a_failing_command_fails_the_task(agent: Agent, master: InTestMaster, command: str, message: str) -> None:
    master.run(command_task("bad", command))

    status = await master.wait_for_end("bad")

    assert status.state == mesos_pb2.TASK_FAILED
    assert status.message == message
    assert status.source == _Status.SOURCE_EXECUTOR


async def test_arguments_are_the_whole_argv(agent: Agent, master: InTestMaster, flags: AgentFlags) -> None:
    task = command_task("argv", "/bin/sh")
    task.command.shell = False
    task.command.arguments.extend(["any name", "-c", 'printf "<%s>" "$@"', "0", "a b", "", "*", "$HOME", "it's", "é"])

    assert await output_of(master, flags, task) == "<a b><><*><$HOME><it's><é>"


async def test_a_program_that_does_not_exist_ran_and_exited_with_1(agent: Agent, master: InTestMaster) -> None:
    task = command_task("missing", "/no/such/program")
    task.command.shell = False
    task.command.arguments.append("program")
    master.run(task)

    status = await master.wait_for_end("missing")

    assert await master.wait_for_state("missing", mesos_pb2.TASK_RUNNING)
    assert (status.state, status.message) == (mesos_pb2.TASK_FAILED, "Command exited with status 1")


async def test_a_task_has_its_own_environment_only(
    agent: Agent, master: InTestMaster, flags: AgentFlags, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_AGENT", "1")
    task = command_task("env", "/usr/bin/env")
    task.command.shell = False
    task.command.arguments.append("env")
    task.command.environment.variables.add(name="MINE", value="a=b c")
    task.command.environment.variables.add(name="MESOS_CHECKPOINT", value="mine")

    lines = await output_of(master, flags, task)

    found = dict(line.split("=", 1) for line in lines.splitlines())
    directory = str(sandbox(flags, "env").resolve())
    assert found["MINE"] == "a=b c"
    assert found["MESOS_CHECKPOINT"] == "mine"
    assert found["MESOS_SANDBOX"] == found["MESOS_DIRECTORY"] == directory
    assert found["MESOS_FRAMEWORK_ID"] == FRAMEWORK_ID
    assert found["MESOS_EXECUTOR_ID"] == "env"
    assert found["MESOS_SLAVE_ID"] == AGENT_ID
    assert found["MESOS_SLAVE_PID"] == f"slave(1)@{agent.address}"
    assert found["MESOS_AGENT_ENDPOINT"] == str(agent.address)
    assert found["MESOS_ALLOCATION_ROLE"] == "lab"
    assert found["PATH"] == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert "OF_THE_AGENT" not in found


async def test_a_kill_ends_the_whole_tree(agent: Agent, master: InTestMaster, flags: AgentFlags) -> None:
    master.run(command_task("tree", "setsid sleep 1000 & echo $!; exec sleep 1000"), framework(KILLING_STATE))
    await master.wait_for_state("tree", mesos_pb2.TASK_RUNNING)
    master.kill("tree")

    status = await master.wait_for_end("tree")

    assert await master.wait_for_state("tree", mesos_pb2.TASK_KILLING)
    assert (status.state, status.message) == (mesos_pb2.TASK_KILLED, "Command terminated with signal Terminated")
    printed = printed_by("tree", flags).split()
    assert not list(filter(lives, printed))


async def test_a_killed_task_is_killed_whatever_its_exit_status(agent: Agent, master: InTestMaster) -> None:
    master.run(command_task("polite", "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"))
    await master.wait_for_state("polite", mesos_pb2.TASK_RUNNING)
    master.kill("polite", grace_s=30)

    status = await master.wait_for_end("polite")

    assert status.state == mesos_pb2.TASK_KILLED
    assert "TASK_KILLING" not in [mesos_pb2.TaskState.Name(item.status.state) for item in master.updates("polite")]


async def test_a_task_that_ignores_the_kill_dies_after_its_own_grace(
    agent: Agent, master: InTestMaster, flags: AgentFlags
) -> None:
    task = command_task("deaf", "trap '' TERM; echo ready; while :; do sleep 0.01; done")
    task.kill_policy.grace_period.nanoseconds = 50_000_000
    master.run(task)
    await master.wait_for_state("deaf", mesos_pb2.TASK_RUNNING)
    await eventually(lambda: printed_by("deaf", flags))
    master.kill("deaf")

    status = await master.wait_for_end("deaf")

    assert (status.state, status.message) == (mesos_pb2.TASK_KILLED, "Command terminated with signal Killed")


async def test_max_completion_time_fails_the_task(agent: Agent, master: InTestMaster) -> None:
    task = command_task("slow", "exec sleep 1000")
    task.max_completion_time.nanoseconds = 50_000_000
    master.run(task)

    status = await master.wait_for_end("slow")

    assert status.state == mesos_pb2.TASK_FAILED
    assert status.reason == _Status.REASON_MAX_COMPLETION_TIME_REACHED


async def test_a_kill_of_an_unknown_task_is_answered(agent: Agent, master: InTestMaster) -> None:
    master.run(command_task("known", "exec sleep 1000"), framework(PARTITION_AWARE))
    master.kill("unknown")

    status = await master.wait_for_end("unknown")

    assert status.state == mesos_pb2.TASK_DROPPED
    assert (status.source, status.message) == (_Status.SOURCE_AGENT, "Cannot find executor")


async def test_an_update_is_repeated_until_it_is_acknowledged(agent: Agent, master: InTestMaster) -> None:
    master.acknowledges = False
    master.run(command_task("quick"))
    first = await master.wait_for(internal_pb2.StatusUpdateMessage)
    await asyncio.sleep(0)

    master.ping(connected=False)  # makes the agent register again, which sends what is outstanding once more
    again = await master.wait_for(internal_pb2.StatusUpdateMessage, count=2)

    assert first.update.uuid == again.update.uuid
    assert first.update.status.state == mesos_pb2.TASK_STARTING
    master.acknowledges = True
    master.acknowledge(again.update)
    await master.wait_for_end("quick")


async def test_a_lost_registration_is_renewed_with_all_tasks(agent: Agent, master: InTestMaster) -> None:
    master.run(command_task("long", "exec sleep 1000"))
    await master.wait_for_state("long", mesos_pb2.TASK_RUNNING)

    master.ping(connected=False)
    message = await master.wait_for(Reregistered)

    assert message.slave.id.value == AGENT_ID
    assert [item.task_id.value for item in message.tasks] == ["long"]
    assert message.tasks[0].state == mesos_pb2.TASK_RUNNING
    assert [info.id.value for info in message.frameworks] == [FRAMEWORK_ID]


async def test_no_ping_for_too_long_makes_it_register_again(flags: AgentFlags, master: InTestMaster) -> None:
    master.total_ping_timeout_s = 0.05
    async with running_agent(flags, master):
        await master.wait_for(Reregistered)


async def test_a_restarted_master_is_found_again(flags: AgentFlags) -> None:
    async with in_test_master() as first:
        port = first.pid.port
        agent = Agent(flags, detector=FixedDetector(first.leader))
        await agent.start()
        await first.wait_for(Registered)
    async with in_test_master(TcpAddress("127.0.0.1", port)) as second:
        await second.wait_for(Reregistered)
        await agent.close()


async def test_tasks_that_the_master_knows_alone_are_reported_lost(agent: Agent, master: InTestMaster) -> None:
    master.answers_registrations = False
    master.ping(connected=False)
    await master.wait_for(Reregistered)
    message = internal_pb2.SlaveReregisteredMessage()
    message.slave_id.value = AGENT_ID
    asked = message.reconciliations.add()
    asked.framework_id.value = FRAMEWORK_ID
    status = asked.statuses.add(state=mesos_pb2.TASK_RUNNING)
    status.task_id.value = "gone"
    master.send(message)

    lost = await master.wait_for_end("gone")

    assert (lost.state, lost.reason) == (mesos_pb2.TASK_LOST, _Status.REASON_RECONCILIATION)
    assert lost.message == "Reconciliation: task unknown to the agent"


async def test_a_framework_that_is_shut_down_ends_in_silence(
    agent: Agent, master: InTestMaster, flags: AgentFlags
) -> None:
    master.run(command_task("doomed", "echo $$; exec sleep 1000"))
    await master.wait_for_state("doomed", mesos_pb2.TASK_RUNNING)
    pid = await eventually(lambda: printed_by("doomed", flags))

    master.shut_down_framework()

    await eventually(lambda: not lives(pid))
    assert [update.status.state for update in master.updates("doomed")][-1] == mesos_pb2.TASK_RUNNING


async def test_a_shut_down_executor_ends_its_command_task(agent: Agent, master: InTestMaster) -> None:
    master.run(command_task("long", "exec sleep 1000"))
    await master.wait_for_state("long", mesos_pb2.TASK_RUNNING)
    message = internal_pb2.ShutdownExecutorMessage()
    message.framework_id.value = FRAMEWORK_ID
    message.executor_id.value = "long"
    master.send(message)

    assert (await master.wait_for_end("long")).state == mesos_pb2.TASK_KILLED


async def test_a_killed_supervisor_fails_its_task_and_leaves_nothing(
    agent: Agent, master: InTestMaster, flags: AgentFlags
) -> None:
    master.run(command_task("orphan", "setsid sleep 1000 & echo $! $$; exec sleep 1000"))
    running = await master.wait_for_state("orphan", mesos_pb2.TASK_RUNNING)
    pids = (await eventually(lambda: printed_by("orphan", flags))).split()

    os.kill(running.container_status.executor_pid, signal.SIGKILL)
    status = await master.wait_for_end("orphan")

    assert (status.state, status.reason) == (mesos_pb2.TASK_FAILED, _Status.REASON_EXECUTOR_TERMINATED)
    assert status.message.startswith("Executor terminated; ")
    await eventually(lambda: not list(filter(lives, pids)))


async def test_a_sandbox_that_cannot_be_made_fails_the_task(agent: Agent, master: InTestMaster) -> None:
    name = "x" * 300
    master.run(command_task(name))

    status = await master.wait_for_end(name)

    assert status.reason == _Status.REASON_CONTAINER_LAUNCH_FAILED
    assert status.message.startswith("Failed to launch container: cannot make the sandbox ")
    assert status.message.endswith(": File name too long")


async def test_a_launch_that_fails_unexpectedly_fails_its_task_only(
    agent: Agent, master: InTestMaster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Spawner, "spawn", lambda *_: 1 / 0)
        master.run(command_task("t1", "true"))
        status = await master.wait_for_end("t1")
    master.run(command_task("t2", "true"))

    assert (status.state, status.reason) == (mesos_pb2.TASK_FAILED, _Status.REASON_CONTAINER_LAUNCH_FAILED)
    assert "unexpected error of the agent: ZeroDivisionError('division by zero')" in status.message
    assert "its launch has failed unexpectedly" in caplog.text
    assert (await master.wait_for_end("t2")).state == mesos_pb2.TASK_FINISHED


async def test_many_tasks_at_once_end_once_each(agent: Agent, master: InTestMaster) -> None:
    names = [f"task-{number}" for number in range(60)]
    for name in names:
        master.run(command_task(name))
    for name in names:
        assert (await master.wait_for_end(name)).state == mesos_pb2.TASK_FINISHED
        assert len(master.updates(name)) == 3


async def test_an_operation_is_refused_with_a_text(agent: Agent, master: InTestMaster) -> None:
    message = internal_pb2.ApplyOperationMessage()
    message.operation_info.type = mesos_pb2.Offer.Operation.CREATE
    message.operation_uuid.value = message.resource_version_uuid.uuid.value = bytes(16)
    master.send(message)

    answer = await master.wait_for(internal_pb2.UpdateOperationStatusMessage)

    assert answer.status.state == mesos_pb2.OPERATION_FAILED
    assert answer.status.message == "offer operations are not supported by this agent yet"


async def test_a_drained_agent_ends_its_tasks_within_the_operators_grace(agent: Agent, master: InTestMaster) -> None:
    master.run(command_task("stubborn", "trap '' TERM; while :; do sleep 0.05; done"), framework(PARTITION_AWARE))
    await master.wait_for_state("stubborn", mesos_pb2.TASK_RUNNING)
    message = internal_pb2.DrainSlaveMessage()
    message.config.max_grace_period.nanoseconds = 100_000_000
    message.config.mark_gone = True
    master.acknowledges = False  # else the drain is over as soon as the task has ended
    master.send(message)

    ended = await master.wait_for_end("stubborn")
    master.run(command_task("late"))
    late = await master.wait_for_end("late")

    assert (ended.state, ended.reason) == (mesos_pb2.TASK_GONE_BY_OPERATOR, _Status.REASON_AGENT_DRAINING)
    assert (late.message, late.reason) == (
        "Task was received while agent was already draining",
        _Status.REASON_AGENT_DRAINING,
    )


async def test_reservations_are_told_again_at_reregistration(agent: Agent, master: InTestMaster) -> None:
    message = internal_pb2.CheckpointResourcesMessage()
    message.resources.add(name="cpus", type=mesos_pb2.Value.SCALAR, role="lab").scalar.value = 1
    master.send(message)
    master.ping(connected=False)

    again = await master.wait_for(Reregistered)

    assert list(again.checkpointed_resources) == list(message.resources)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_a_task_runs_as_its_user(flags: AgentFlags, master: InTestMaster, tmp_path: Path) -> None:
    for directory in (tmp_path, *tmp_path.parents[:-1]):
        if directory.stat().st_uid == 0 and directory != Path("/tmp"):
            directory.chmod(0o755)
    async with running_agent(_with(flags, switch_user=True), master):
        await master.wait_for(Registered)
        task = command_task("whoami", "id -un; id -gn; touch here")
        task.command.user = "nobody"
        assert await output_of(master, flags, task) == "nobody\nnogroup\n"
    assert sandbox(flags, "whoami").stat().st_uid == pwd.getpwnam("nobody").pw_uid


async def test_an_unknown_user_fails_the_task(flags: AgentFlags, master: InTestMaster) -> None:
    async with running_agent(_with(flags, switch_user=True), master):
        await master.wait_for(Registered)
        task = command_task("who")
        task.command.user = "nobody-of-that-name"
        master.run(task)
        status = await master.wait_for_end("who")

    assert status.message == "Failed to launch container: there is no user 'nobody-of-that-name' on this agent"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_a_task_of_nobody_does_not_run_as_root(flags: AgentFlags, master: InTestMaster) -> None:
    async with running_agent(_with(flags, switch_user=True), master):
        await master.wait_for(Registered)
        master.run(command_task("whose"))
        status = await master.wait_for_end("whose")

    assert "names a user" in status.message


async def test_a_masters_order_to_shut_down_is_an_error(agent: Agent, master: InTestMaster) -> None:
    master.send(internal_pb2.ShutdownMessage(message="Machine is `DOWN`"))

    with pytest.raises(AgentStopped, match="Machine is `DOWN`"):
        await agent.wait_stopped()


async def test_an_agent_that_is_no_master_is_told_and_asked_again(
    agent: Agent, flags: AgentFlags, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.INFO)
    address = str(agent.address)
    lost = Agent(
        _with(flags, work_dir=str(tmp_path / "lost"), runtime_dir=str(tmp_path / "run")),
        detector=build_detector(address),
    )
    await lost.start()

    told = f"{address} answers, but it is a Mesos agent, not a master (masters listen on 5050 by default)"
    await eventually(lambda: told in caplog.text)
    asked = caplog.text.count(f"registering with master@{address}")
    await eventually(lambda: caplog.text.count(f"registering with master@{address}") > asked)
    await lost.close()


async def test_orders_of_strangers_are_ignored(agent: Agent, master: InTestMaster) -> None:
    async with in_test_master() as stranger:
        stranger.agent = master.agent
        stranger.send(internal_pb2.ShutdownMessage(message="obey me"))
        stranger.run(command_task("foreign"))
        stranger.ping()
        await stranger.wait_for(internal_pb2.PongSlaveMessage)
    master.run(command_task("own"))
    await master.wait_for_end("own")
    assert not master.updates("foreign")


async def test_closing_ends_all_tasks(flags: AgentFlags, master: InTestMaster) -> None:
    async with running_agent(flags, master):
        await master.wait_for(Registered)
        master.run(command_task("long", "echo $$; exec sleep 1000"))
        await master.wait_for_state("long", mesos_pb2.TASK_RUNNING)
        pid = await eventually(lambda: printed_by("long", flags))
    assert not lives(pid)
    assert len(master.updates("long")) == 2


async def test_unregistering_tells_the_master(agent: Agent, master: InTestMaster) -> None:
    agent.unregister()

    message = await master.wait_for(internal_pb2.UnregisterSlaveMessage)

    assert message.slave_id.value == AGENT_ID


async def test_a_second_agent_on_the_same_work_dir_is_refused(
    agent: Agent, flags: AgentFlags, master: InTestMaster
) -> None:
    second = Agent(flags, detector=FixedDetector(master.leader))
    with pytest.raises(WorkDirInUse, match=flags.work_dir):
        await second.start()


async def test_a_taken_port_is_refused(agent: Agent, flags: AgentFlags, master: InTestMaster, tmp_path: Path) -> None:
    assert isinstance(agent.address, TcpAddress)
    taken = _with(flags, work_dir=str(tmp_path / "other"), port=agent.address.port)
    second = Agent(taken, detector=FixedDetector(master.leader))
    with pytest.raises(BindError, match=str(agent.address)):
        await second.start()


async def test_a_work_dir_that_cannot_be_made_is_refused(
    flags: AgentFlags, master: InTestMaster, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    agent = Agent(_with(flags, work_dir=str(tmp_path / "file/work")), detector=FixedDetector(master.leader))
    with pytest.raises(BadAgentFlags, match=r"--work_dir: cannot use .*: Not a directory"):
        await agent.start()


async def test_gpus_that_nothing_isolates_are_offered_as_they_are_named(
    flags: AgentFlags, master: InTestMaster
) -> None:
    agent = Agent(_with(flags, resources="cpus:1;gpus:2"), detector=FixedDetector(master.leader))

    await agent.start()
    try:
        registered = await master.wait_for(internal_pb2.RegisterSlaveMessage)
    finally:
        await agent.close()

    assert {resource.name: resource.scalar.value for resource in registered.slave.resources}["gpus"] == 2


async def test_an_isolator_that_lacks_another_is_refused_by_name(flags: AgentFlags, master: InTestMaster) -> None:
    agent = Agent(_with(flags, isolation="gpu/nvidia"), detector=FixedDetector(master.leader))

    with pytest.raises(BadAgentFlags, match="The 'cgroups/devices' or 'cgroups/all' isolator must be enabled"):
        await agent.start()


async def test_an_agent_behind_a_unix_socket_has_a_made_up_pid(flags: AgentFlags, tmp_path: Path) -> None:
    made_up = ("127.0.0.1", 5050)
    async with in_test_master() as master:
        listen = UnixAddress(str(tmp_path / "agent.sock"))
        embedded = _with(flags, port=5051)
        detector = FixedDetector(master.leader)
        agent = Agent(embedded, detector=detector, listen=listen, routes={made_up: master.leader.address})
        await agent.start()
        message = await master.wait_for(Registered)
        assert agent.address == listen
        assert message.slave.port == 5051
        await agent.close()


def _with(flags: AgentFlags, **changes: object) -> AgentFlags:
    from dataclasses import replace

    return replace(flags, **changes)  # type: ignore[arg-type]
