"""A run of a job: the asyncio shell around the gang's core."""

import asyncio
import logging
from collections.abc import Coroutine
from random import Random

from tfmesos.client import ClientError, MasterClient, MasterUnreachable, SchedulerClient
from tfmesos.discovery import Detector, agent_address
from tfmesos.errors import TfmesosError
from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.blueprint import Blueprint
from tfmesos.launcher.environment import build_environment
from tfmesos.launcher.errands import CALL_TIMEOUT_S, GRACE_S, Errands
from tfmesos.launcher.errors import JobFailed, JobSpecError, NeverFits
from tfmesos.launcher.events import (
    ConnectionFailed,
    Ending,
    Event,
    Finish,
    MasterRefused,
    OfferRescinded,
    OffersArrived,
    StatusArrived,
    StopAsked,
    Subscribed,
    TimePassed,
)
from tfmesos.launcher.failure import build_outcome
from tfmesos.launcher.gang import Gang
from tfmesos.launcher.gang_options import GangOptions
from tfmesos.launcher.listening import wait_listening
from tfmesos.launcher.local_task import LOCAL_TASK, LocalTask, host_towards
from tfmesos.launcher.logs import LogFollower
from tfmesos.launcher.messages import build_framework, read_offer, read_status
from tfmesos.launcher.options import RunOptions
from tfmesos.launcher.placement import TaskKey
from tfmesos.launcher.rules import MODERN, MesosRules, rules_of
from tfmesos.launcher.sinks import TextSink
from tfmesos.launcher.tasks import Outcome, TaskView
from tfmesos.transport import Address, TcpAddress, TransportError
from tfmesos.wire import mesos_pb2, scheduler_pb2

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 5.0
RECONNECT_TIMEOUT_S = 20.0
VERSION_TIMEOUT_S = 2.0
FAREWELL_S = 5.0


class JobRun:
    """One job from its subscription to its end. All methods are called in one event loop; nothing runs before `start`.

    The framework and all of its tasks are gone once `wait_finished` or `stop` has returned.
    """

    def __init__(self, options: RunOptions, detector: Detector, *, output: TextSink) -> None:
        """Check the options. Raises JobSpecError."""
        _check_local_worker(options)
        environment = build_environment(options)
        self._options = options
        self._detector = detector
        self._output = output
        self._left_out = environment.left_out
        self._blueprint = Blueprint(options, environment.variables)
        build_framework(options)  # what cannot be one is told now
        self._events: asyncio.Queue[tuple[Event, mesos_pb2.TaskStatus | None]] = asyncio.Queue()
        self._all_run = asyncio.Event()
        self._hurry = asyncio.Event()
        self._gang: Gang | None = None
        self._client: SchedulerClient | None = None
        self._outcome: Outcome | None = None
        self._error: TfmesosError | None = None
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return when every task runs.

        Raises JobFailed (NeverFits) when the job ended before, MasterUnreachable, SubscriptionRejected.
        """
        for name in self._left_out:
            self._output.write_note(f"the variable {name} is not passed on: its value is not UTF-8")
        self._running = asyncio.create_task(self._run(), name="tfmesos job")
        await self._unless_over(self._all_run.wait())

    async def wait_finished(self) -> Outcome:
        """Wait for the end of the job: all output is written, no task is left. May be called by several and again."""
        assert self._running is not None, "not started"
        await asyncio.shield(self._running)
        assert self._outcome is not None
        return self._outcome

    async def wait_listening(self) -> None:
        """Wait until the servers of all tasks without a command accept connections.

        Raises JobFailed when the job ends before.
        """
        servers = {job.name for job in self._options.jobs if job.cmd is None}

        def current() -> tuple[TaskAddress, ...]:
            return tuple(address for address in self._everyone.tasks if address.job in servers)

        await self._unless_over(wait_listening(current))

    async def stop(self, *, exit_status: int = 130, text: str = "interrupted", at_once: bool = False) -> None:
        """End the job: tasks are killed within their grace, `at_once` without.

        The outcome has this status unless it is decided already. May be called again: a second call with `at_once`
        shortens the first. Returns when all is gone.
        """
        if self._running is None or self._running.done():
            return
        if at_once:
            self._hurry.set()
        self._tell(StopAsked(exit_status, text, at_once))
        await asyncio.shield(self._running)

    @property
    def outcome(self) -> Outcome | None:
        """How the job ended, None while it lives."""
        return self._outcome

    @property
    def framework_id(self) -> str:
        """The id the master gave, empty before."""
        return (self._client and self._client.framework_id) or ""

    @property
    def tasks(self) -> tuple[TaskView, ...]:
        """All tasks in order of role and index, as they are now."""
        return self._gang.tasks if self._gang else ()

    @property
    def targets(self) -> dict[str, str]:
        """`{"/job:ps/task:0": "grpc://host:port"}` for every task."""
        return {task.target: f"{self._options.protocol}://{task.address}" for task in self.tasks}

    @property
    def cluster_spec(self) -> dict[str, list[str] | dict[int, str]]:
        """What tf.train.ClusterSpec takes: lists in order of the index, sparse dicts for roles that skip some."""
        return self._everyone.spec()

    # -- how it goes

    @property
    def _everyone(self) -> ClusterAddresses:
        return self._gang.everyone if self._gang else ClusterAddresses(())

    async def _unless_over(self, work: Coroutine[None, None, object]) -> None:
        """Wait for `work`; raises JobFailed, or what broke the run, when that is over first."""
        assert self._running is not None, "not started"
        working = asyncio.create_task(work)
        try:
            await asyncio.wait({working, self._running}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            working.cancel()
        if self._running.done():
            await self._running
            self._raise_failure()
        else:
            working.result()

    def _raise_failure(self) -> None:
        assert self._outcome is not None
        if self._error is not None:
            raise self._error
        if self._outcome.never_fits:
            raise NeverFits(self._outcome.text)
        if self._outcome.exit_status:
            raise JobFailed(self._outcome.text, exit_status=self._outcome.exit_status, failure=self._outcome.failure)

    def _tell(self, event: Event, status: mesos_pb2.TaskStatus | None = None) -> None:
        self._events.put_nowait((event, status))

    async def _run(self) -> None:
        started_at = asyncio.get_running_loop().time()
        rules = await self._find_rules()
        local = await self._prepare_local()
        try:
            self._gang = Gang(self._gang_options(local), Random(), started_at)
            async with self._new_client(rules) as self._client, asyncio.TaskGroup() as group:
                logs = LogFollower(self._output, group, resolve=self._resolve, is_shown=self._shows)
                errands = Errands(
                    self._options,
                    self._blueprint,
                    self._output,
                    rules=rules,
                    client=self._client,
                    logs=logs,
                    local=local,
                    group=group,
                    tell=self._tell,
                    all_run=self._all_run,
                )
                listener = group.create_task(self._listen(self._client, errands))
                try:
                    ending = await self._drive(self._gang, self._client, errands)
                    self._outcome = await self._conclude(ending, self._client, logs)
                finally:
                    listener.cancel()
                    errands.close()
                    await logs.close()
        finally:
            if local is not None:
                local.close()

    async def _find_rules(self) -> MesosRules:
        """By the master's version, where it matters; a master that does not tell is one of today."""
        wants_gpus = any(job.gpus for job in self._options.jobs)
        if self._options.embedded or not (wants_gpus or self._options.container.image):
            return MODERN
        try:
            async with asyncio.timeout(VERSION_TIMEOUT_S):
                leader = await self._detector.detect(None)
                async with MasterClient(leader.address, VERSION_TIMEOUT_S) as master:
                    return rules_of(str((await master.get_json("/version"))["version"]))
        except (ClientError, TransportError, TimeoutError, ValueError, LookupError, TypeError) as error:
            log.info("the master does not tell its version: %s", error)
            return MODERN

    def _new_client(self, rules: MesosRules) -> SchedulerClient:
        return SchedulerClient(
            self._detector,
            build_framework(self._options, rules),
            connect_timeout_s=CONNECT_TIMEOUT_S,
            reconnect_timeout_s=RECONNECT_TIMEOUT_S,
        )

    async def _prepare_local(self) -> LocalTask | None:
        if not self._options.local_worker:
            return None
        try:
            leader = await self._detector.detect(None)
            return LocalTask(await host_towards(leader.address))
        except (TransportError, OSError) as error:
            raise MasterUnreachable(None, str(error)) from error

    def _gang_options(self, local: LocalTask | None) -> GangOptions:
        return GangOptions(
            jobs=self._options.jobs,
            role=self._options.role,
            embedded=self._options.embedded,
            fail_fast=self._options.fail_fast,
            time_limit_s=self._options.time_limit_s,
            grace_s=GRACE_S,
            local_address=local.address if local else None,
            image=self._options.container.image,
        )

    async def _listen(self, client: SchedulerClient, errands: Errands) -> None:
        """Turn what the master says into events."""
        try:
            async for event in client:
                self._hear(event, errands)
        except ClientError as error:
            self._error = error
            self._tell(ConnectionFailed(str(error), error.exit_status))

    def _hear(self, event: scheduler_pb2.Event, errands: Errands) -> None:
        match event.type:
            case scheduler_pb2.Event.SUBSCRIBED:
                log.info("subscribed as framework %s", event.subscribed.framework_id.value)
                self._tell(Subscribed())
            case scheduler_pb2.Event.OFFERS:
                for offer in event.offers.offers:
                    errands.saw_agent(offer.agent_id.value)
                self._tell(OffersArrived(tuple(map(read_offer, event.offers.offers))))
            case scheduler_pb2.Event.RESCIND:
                self._tell(OfferRescinded(event.rescind.offer_id.value))
            case scheduler_pb2.Event.UPDATE:
                status = read_status(event.update.status)
                log.info("%s: %s%s", status.task_id, status.state, f": {status.message}" if status.message else "")
                self._tell(StatusArrived(status), event.update.status)
            case scheduler_pb2.Event.ERROR:
                self._tell(MasterRefused(event.error.message))

    async def _drive(self, gang: Gang, client: SchedulerClient, errands: Errands) -> Ending:
        """Feed the core until it is over."""
        loop = asyncio.get_running_loop()
        while True:
            event, status = await self._next_event(gang)
            actions = gang.handle(event, loop.time())
            for action in actions:
                if not isinstance(action, Finish):
                    await errands.carry_out(action)
            if status is not None:
                await _acknowledge(client, status)
            if actions and isinstance(actions[-1], Finish):
                return actions[-1].ending

    async def _next_event(self, gang: Gang) -> tuple[Event, mesos_pb2.TaskStatus | None]:
        try:
            async with asyncio.timeout_at(gang.wakes_at):
                return await self._events.get()
        except TimeoutError:
            return TimePassed(), None

    async def _conclude(self, ending: Ending, client: SchedulerClient, logs: LogFollower) -> Outcome:
        """Show the last output, and take leave of the master."""
        await self._drain(logs)
        lines: tuple[str, ...] = ()
        path = ""
        if ending.failed and ending.failed.task:
            lines = await logs.last_lines(ending.failed.task.task_id)
            path = await logs.log_path(ending.failed.task.task_id)
        try:
            async with asyncio.timeout(FAREWELL_S):
                if client.is_subscribed:
                    await client.teardown()
        except (ClientError, TransportError, TimeoutError) as error:
            log.warning("the master was not told of the end: %s", error)
        return build_outcome(ending, lines, path, image=self._options.container.image)

    async def _drain(self, logs: LogFollower) -> None:
        """Wait until all output is written, however slow its reader is; not when the user is in a hurry."""
        waits = [asyncio.create_task(logs.drain()), asyncio.create_task(self._hurry.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    def _resolve(self, endpoint: tuple[str, int]) -> Address:
        leader = self._client.leader if self._client else None
        return agent_address(leader, *endpoint) if leader else TcpAddress(*endpoint)

    def _shows(self, key: TaskKey) -> bool:
        chosen = self._options.log_tasks
        return not self._options.quiet and (chosen is None or (key.job, key.index) in chosen)


def _check_local_worker(options: RunOptions) -> None:
    has_one = any(job.name == LOCAL_TASK.job and LOCAL_TASK.index in job.indices for job in options.jobs)
    if options.local_worker and not has_one:
        raise JobSpecError("a local worker needs a job named worker with a task 0")


async def _acknowledge(client: SchedulerClient, status: mesos_pb2.TaskStatus) -> None:
    try:
        async with asyncio.timeout(CALL_TIMEOUT_S):
            await client.acknowledge(status)
    except (ClientError, TimeoutError) as error:
        log.warning("%s: its state is not acknowledged: %s", status.task_id.value, error)
