"""Composition of the agent."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from aiohttp import web

from tfmesos.agent.assembly import build_containerizer, build_runner
from tfmesos.agent.checkpoint import CheckpointStore, Recovered
from tfmesos.agent.container_api import ContainerApi
from tfmesos.agent.containerizer import Containerizer
from tfmesos.agent.errors import AgentGone, AgentStopped, BadAgentFlags
from tfmesos.agent.executor_api.api import NOT_RECOVERED, ExecutorApi
from tfmesos.agent.executor_api.streams import ExecutorStreams
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.gpu import GpuSupply, driver_volume, find_gpus
from tfmesos.agent.gpu.volume import DriverVolume
from tfmesos.agent.isolators import flags_for_remains, wanted_isolators
from tfmesos.agent.membership.identity import Identity, address_towards, advertised_pid, checked_ip, hostname_of
from tfmesos.agent.membership.mailbox import Mailbox
from tfmesos.agent.membership.member import AgentMember
from tfmesos.agent.membership.orders import Orders
from tfmesos.agent.membership.registrar import Membership
from tfmesos.agent.membership.resources_detection import offered_resources
from tfmesos.agent.operator_api.pages import Api
from tfmesos.agent.operator_api.state import AgentView
from tfmesos.agent.recovery.outbox import Outbox
from tfmesos.agent.recovery.recorder import CheckpointRecorder
from tfmesos.agent.recovery.restart import check_runtime_dir, end_remains, go_on, recovered_id
from tfmesos.agent.sandboxes.work_dir import WorkDir
from tfmesos.agent.scope import Scope
from tfmesos.discovery import Detector
from tfmesos.metrics import Metrics
from tfmesos.resources import ResourcesError, parse_attributes
from tfmesos.supervision import read_boot_id
from tfmesos.transport import Address, HttpServer, LibprocessNode, TcpAddress, reply
from tfmesos.wire import internal_pb2, mesos_pb2

_EXECUTOR_PATH = "/api/v1/executor"
_log = logging.getLogger(__name__)


class Agent:
    """An agent of a Mesos master.

    With `listen` it serves on that address (of a unix socket, say) while its process id names the made-up
    host and port of its flags; `routes` then says where the master's made-up host and port really are.
    """

    def __init__(
        self,
        flags: AgentFlags,
        *,
        detector: Detector,
        listen: Address | None = None,
        routes: Mapping[tuple[str, int], Address] | None = None,
        gpus: GpuSupply | None = None,
    ) -> None:
        """`gpus`: what is offered of them; without it the flags say, and what there is."""
        self._flags = flags
        self._detector = detector
        self._listen = listen
        self._routes = routes
        self._gpus = gpus
        self._cleanup = AsyncExitStack()
        self._stopped = asyncio.Event()
        self._failure: BaseException | None = None
        self._leaves_nothing = False
        self._address: Address | None = None
        self._membership: Membership | None = None
        self._api: Api | None = None

    async def start(self) -> None:
        """Lock the work directory, listen, go on where an agent before has stopped, and begin to look for the master.

        With --recover=cleanup: end what the agent before has left, and stop.

        Errors: WorkDirInUse, BadAgentFlags, CheckpointUnusable, AgentChanged, transport's BindError, supervision's
        SupervisionError.
        """
        try:
            await self._start()
        except BaseException:
            await self._cleanup.aclose()
            raise

    @property
    def address(self) -> Address:
        """Where the agent listens (the real port if 0 was asked for)."""
        assert self._address is not None, "the agent is not started"
        return self._address

    async def wait_stopped(self) -> None:
        """Return when `close` was called; raise AgentStopped when the master ordered a shutdown."""
        await self._stopped.wait()
        if self._failure is not None:
            raise self._failure

    def unregister(self) -> None:
        """Tell the master that this agent goes for good: it forgets the agent at once. `close` follows and ends all."""
        self._leaves_nothing = True
        if self._membership is not None and self._membership.is_registered:
            message = internal_pb2.UnregisterSlaveMessage()
            message.slave_id.value = self._membership.agent_id or ""
            self._membership.send(message)

    async def close(self, *, leaves_nothing: bool = False) -> None:
        """End the tasks, wait until nothing of them is left, stop listening, unlock. Idempotent.

        Tasks of frameworks that want checkpoints run on for the next agent, except with `leaves_nothing`, after
        `unregister`, and when the master ended this one.
        """
        self._leaves_nothing = self._leaves_nothing or leaves_nothing
        await self._cleanup.aclose()
        self._stopped.set()

    async def _start(self) -> None:
        flags, cleanup = self._flags, self._cleanup
        cleanup.push_async_callback(self._detector.close)
        work_dir = WorkDir(Path(flags.work_dir))
        _lock(work_dir)
        cleanup.callback(work_dir.unlock)
        store = CheckpointStore.open(
            work_dir.path, is_strict=flags.strict, max_completed_frameworks=flags.max_completed_frameworks
        )
        cleanup.callback(store.close)
        wanted_isolators(flags)  # the faults of the flags first
        metrics = Metrics()
        if flags.recover == "cleanup":
            containerizer = await build_containerizer(flags_for_remains(flags), metrics)
            await end_remains(containerizer, store, boot_id=read_boot_id())
            self._stopped.set()
            return
        gpus = self._gpus or await find_gpus(flags)
        resources = offered_resources(flags.resources, flags.default_role, work_dir.path, gpus=gpus.resources)
        containerizer = await build_containerizer(flags, metrics, gpus)
        cleanup.push_async_callback(containerizer.close)
        volume = driver_volume(flags, gpus)
        if volume is not None and self._gpus is None:
            await self._begin_driver_volume(volume)
        attributes = _attributes(flags)

        mailbox = Mailbox()
        ip = await self._own_ip()
        server = await HttpServer.start(self._answer, self._listen or TcpAddress(ip, flags.port), mailbox.receive)
        cleanup.push_async_callback(server.close)
        self._address = server.address
        pid = advertised_pid(flags, server.address, ip)
        node = LibprocessNode(pid.host, pid.port, self._routes)
        cleanup.push_async_callback(node.close)
        identity = Identity(pid=pid, hostname=await hostname_of(flags, pid), resources=resources, attributes=attributes)
        await self._compose(identity, work_dir, store, containerizer, metrics, mailbox, node)
        _log.info("agent %s on %s offers %s", identity.hostname, pid, resources)

    async def _begin_driver_volume(self, volume: DriverVolume) -> None:
        """In the background: it may take seconds, and only containers with an image want it."""
        scope = Scope(self._fail)
        group = await scope.open()
        self._cleanup.push_async_callback(scope.close)
        group.create_task(volume.make_ready())

    async def _compose(
        self,
        identity: Identity,
        work_dir: WorkDir,
        store: CheckpointStore,
        containerizer: Containerizer,
        metrics: Metrics,
        mailbox: Mailbox,
        node: LibprocessNode,
    ) -> None:
        flags, cleanup = self._flags, self._cleanup
        before, boot_id = store.recovered(), read_boot_id()
        agent_id = recovered_id(before, identity.info(), boot_id=boot_id, flags=flags, path=str(store.path))
        check_runtime_dir(before, containerizer.runtime_dir, boot_id=boot_id)
        if agent_id is None:
            store.clear()
            before = Recovered()
        streams = ExecutorStreams(identity)
        outbox = Outbox(store, lambda message: membership.send(message))
        runner = build_runner(
            flags,
            identity,
            listens_on=self.address,
            work_dir=work_dir,
            containerizer=containerizer,
            streams=streams,
            recorder=CheckpointRecorder(store),
            send=outbox.send,
        )
        runner.core.counts["recovery_errors"] += store.faults
        member = AgentMember(
            identity,
            work_dir,
            runner,
            store,
            stop=self._stop,
            before=before,
            boot_id=boot_id,
            runtime_dir=str(containerizer.runtime_dir),
        )
        membership = Membership(
            node, self._detector, member, flags.registration_backoff_factor, random.Random(), agent_id
        )
        orders = Orders(membership, runner, member.keep_resources, membership.send)
        view = AgentView(
            flags=flags,
            identity=identity,
            membership=membership,
            core=runner.core,
            containerizer=containerizer,
            start_time=time.time(),
        )
        self._api = Api(
            view,
            work_dir.path,
            ExecutorApi(runner, streams),
            ContainerApi(containerizer, work_dir, flags.http_heartbeat_interval),
            metrics,
        )
        cleanup.callback(self._api.close)
        self._membership = membership
        membership.listen(mailbox)
        orders.listen(mailbox)

        scope = Scope(self._fail)
        group = await scope.open()
        cleanup.push_async_callback(scope.close)
        cleanup.push_async_callback(self._end_containers, containerizer, store)
        cleanup.push_async_callback(runner.close)
        cleanup.callback(membership.close)
        await containerizer.start()
        outbox.begin(group)
        runner.begin(group)
        began_s = time.monotonic()
        await go_on(agent_id, before, containerizer, runner)
        took_s = time.monotonic() - began_s
        metrics.add_gauges(lambda: {"slave/recovery_time_secs": took_s})
        self._api.finish_recovery()
        membership.begin(group)

    async def _end_containers(self, containerizer: Containerizer, store: CheckpointStore) -> None:
        await containerizer.close(end_detached=self._leaves_nothing)
        if self._leaves_nothing:
            store.clear()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._api is None:  # it listens, but is not put together yet
            return reply(503, NOT_RECOVERED)
        return await self._api.handle(request)

    async def _own_ip(self) -> str:
        """The address to listen on, or to claim where `listen` says something else."""
        if self._flags.ip is not None:
            return checked_ip(self._flags.ip, "ip")
        return address_towards(await self._detector.detect(None))

    def _stop(self, reason: str) -> None:
        self._leaves_nothing = True
        self._fail(AgentGone() if reason == AgentGone.ORDER else AgentStopped(reason))

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self._stopped.set()


def _lock(work_dir: WorkDir) -> None:
    try:
        work_dir.lock()
    except OSError as error:
        raise BadAgentFlags(f"--work_dir: cannot use {work_dir.path}: {error.strerror}") from error


def _attributes(flags: AgentFlags) -> list[mesos_pb2.Attribute]:
    try:
        return parse_attributes(flags.attributes) if flags.attributes else []
    except ResourcesError as error:
        raise BadAgentFlags(f"--attributes: {error}") from error
