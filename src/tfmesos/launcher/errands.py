"""Carries out what the gang's core wants done; what comes of it is told as events."""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import assert_never

from tfmesos.client import ClientError, MasterClient, SchedulerClient
from tfmesos.launcher.blueprint import Blueprint
from tfmesos.launcher.environment import own_variables
from tfmesos.launcher.errors import JobSpecError
from tfmesos.launcher.events import (
    Action,
    AllRun,
    AskSurvey,
    Decline,
    Event,
    Finish,
    FinishLogs,
    FollowLogs,
    Kill,
    KillLocal,
    Launch,
    LaunchFailed,
    LaunchImpossible,
    LocalEnded,
    Reconcile,
    Revive,
    Say,
    StartLocal,
    Suppress,
    Surveyed,
)
from tfmesos.launcher.local_task import LocalTask
from tfmesos.launcher.logs import LogFollower
from tfmesos.launcher.messages import build_task
from tfmesos.launcher.nvidia_plugin import PluginError, ask_parameters
from tfmesos.launcher.options import RunOptions
from tfmesos.launcher.rules import MesosRules
from tfmesos.launcher.sinks import TextSink
from tfmesos.launcher.survey import Survey, build_survey
from tfmesos.transport import TransportError
from tfmesos.wire import mesos_pb2

log = logging.getLogger(__name__)

GRACE_S = 3.0
"""Between SIGTERM and SIGKILL, as Mesos' own default."""

CALL_TIMEOUT_S = 5.0
SURVEY_TIMEOUT_S = 5.0


class Errands:
    """The hands of one run. `carry_out` is called for each action in order and never raises for what can go wrong."""

    def __init__(
        self,
        options: RunOptions,
        blueprint: Blueprint,
        output: TextSink,
        *,
        rules: MesosRules,
        client: SchedulerClient,
        logs: LogFollower,
        local: LocalTask | None,
        group: asyncio.TaskGroup,
        tell: Callable[[Event], None],
        all_run: asyncio.Event,
    ) -> None:
        self._options = options
        self._blueprint = blueprint
        self._output = output
        self._rules = rules
        self._client = client
        self._logs = logs
        self._local = local
        self._group = group
        self._tell = tell
        self._all_run = all_run
        self._under_way: set[asyncio.Task[None]] = set()
        self._offered: set[str] = set()

    def close(self) -> None:
        """Drop what is still under way."""
        for task in self._under_way:
            task.cancel()

    def saw_agent(self, agent_id: str) -> None:
        """An agent made an offer: the master hides it not."""
        self._offered.add(agent_id)

    async def carry_out(self, action: Action) -> None:
        """Do one thing. A call that does not reach the master, or is refused, is logged.

        What follows from it shows in the tasks' states, and after a new subscription it is wanted anew.
        """
        # a launch ends with its subscription and never waits for the next
        timeout_s = None if isinstance(action, Launch) else CALL_TIMEOUT_S
        try:
            async with asyncio.timeout(timeout_s):
                await self._carry_out(action)
        except (ClientError, TimeoutError) as error:
            log.warning("%s: %s", type(action).__name__, error)

    async def _carry_out(self, action: Action) -> None:
        match action:
            case Launch():
                await self._launch(action)
            case Decline(offer_ids, refuse_s):
                await self._client.decline(map(_offer_id, offer_ids), refuse_s)
            case Suppress():
                await self._client.suppress()
            case Revive():
                await self._client.revive()
            case Kill(task_id, agent_id, grace_s):
                log.info("%s: killing", task_id)
                await self._client.kill(_task_id(task_id), _agent_id(agent_id), grace_s)
            case Reconcile(tasks):
                await self._client.reconcile([(_task_id(task), _agent_id(agent)) for task, agent in tasks])
            case AskSurvey():
                self._start(self._survey())
            case StartLocal():
                assert self._local is not None
                self._local.renew()
                self._start(self._run_local(action))
            case KillLocal(grace_s):
                assert self._local is not None
                self._local.kill(grace_s)
            case FollowLogs(task, executor_id):
                self._logs.follow(task, self._client.framework_id or "", executor_id)
            case FinishLogs(task_id):
                self._logs.finish(task_id)
            case Say(text):
                self._output.write_note(text)
            case AllRun():
                self._all_run.set()
            case Finish():
                raise AssertionError("the loop ends with it")
            case _:
                assert_never(action)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._group.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _launch(self, launch: Launch) -> None:
        filters = mesos_pb2.Filters(refuse_seconds=launch.refuse_s)
        try:
            operation = await self._operation(launch)
            for task in launch.tasks:
                log.info("%s: launching on %s", task.task_id, task.placed.hostname)
            await self._client.accept(map(_offer_id, launch.offer_ids), [operation], filters)
        except ClientError as error:
            self._not_launched(launch, str(error))
        except PluginError as error:
            self._not_launched(launch, str(error))
            await self._client.decline(map(_offer_id, launch.offer_ids))
        except JobSpecError as error:
            self._not_launched(launch, "not launched")
            self._tell(LaunchImpossible(str(error)))

    def _not_launched(self, launch: Launch, why: str) -> None:
        self._tell(LaunchFailed(tuple(task.task_id for task in launch.tasks), why))

    async def _operation(self, launch: Launch) -> mesos_pb2.Offer.Operation:
        """Raises JobSpecError, and PluginError where a container could not be given its GPUs."""
        operation = mesos_pb2.Offer.Operation(type=mesos_pb2.Offer.Operation.LAUNCH)
        for task in launch.tasks:
            placed = task.placed
            program = self._blueprint.program(task.address, launch.everyone, placed.hostname)
            by_plugin = placed.cards and self._rules.applied_to(self._options.container).is_docker
            parameters = await ask_parameters(placed.host, placed.cards) if by_plugin else ()
            info = build_task(task, program, self._options, GRACE_S, rules=self._rules, parameters=parameters)
            operation.launch.task_infos.append(info)
        return operation

    async def _survey(self) -> None:
        self._tell(Surveyed(await self._ask_master()))

    async def _ask_master(self) -> Survey | None:
        leader = self._client.leader
        if leader is None:
            return None
        try:
            async with MasterClient(leader.address, SURVEY_TIMEOUT_S) as master:
                slaves = await master.get_json("/slaves")
        except (ClientError, TransportError, TimeoutError, ValueError) as error:
            log.warning("the master does not tell of its agents: %s", error)
            return None
        return build_survey(slaves, self._options.role, self._offered)

    async def _run_local(self, start: StartLocal) -> None:
        assert self._local is not None
        directory = self._options.directory or os.getcwd()
        try:
            program = self._blueprint.program(start.address, start.everyone, None)
        except JobSpecError as error:
            self._tell(LocalEnded(error.exit_status, str(error)))
            return
        status, text = await self._local.run(program, own_variables(self._options), directory)
        self._tell(LocalEnded(status, text))


def _offer_id(value: str) -> mesos_pb2.OfferID:
    return mesos_pb2.OfferID(value=value)


def _task_id(value: str) -> mesos_pb2.TaskID:
    return mesos_pb2.TaskID(value=value)


def _agent_id(value: str) -> mesos_pb2.AgentID:
    return mesos_pb2.AgentID(value=value)
