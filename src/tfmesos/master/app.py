"""The master put together: flags in, a running daemon out."""

import logging
import socket
import uuid
from collections.abc import Mapping
from pathlib import Path
from random import Random

from tfmesos.master.clock import Clock
from tfmesos.master.core import MasterCore, MemoryRegistry, Registry, build_allocator
from tfmesos.master.engine import Engine
from tfmesos.master.errors import AddressUnusable, RegistryUnusable
from tfmesos.master.flags import MasterFlags
from tfmesos.master.http import Router
from tfmesos.master.measured import MeasuredAllocator, MeasuredRegistry
from tfmesos.master.registrar import Registrar
from tfmesos.master.work_dir import WorkDir
from tfmesos.metrics import Metrics
from tfmesos.transport import Address, BindError, HttpServer, LibprocessNode, Pid, TcpAddress
from tfmesos.version import MESOS_VERSION
from tfmesos.wire import mesos_pb2

_log = logging.getLogger(__name__)
_MASTER = "master"
_ANY = "0.0.0.0"
_CAPABILITIES = (1, 2, 3)
"""AGENT_UPDATE, AGENT_DRAINING, QUOTA_V2; the v1 enum does not know the last (Mesos 1.11, recorded)."""


class Master:
    """One master on one address.

    `listen` overrides the flags' ip and port (the embedded cluster gives a unix socket); `routes` maps the (host, port)
    of made-up pids to the addresses behind them.
    """

    def __init__(
        self,
        flags: MasterFlags,
        *,
        listen: Address | None = None,
        routes: Mapping[tuple[str, int], Address] | None = None,
    ) -> None:
        flags.check()
        self._flags = flags
        self._listen = listen or TcpAddress(flags.ip, flags.port)
        self._routes = dict(routes or {})
        self._work_dir = WorkDir(Path(flags.work_dir)) if flags.work_dir is not None else None
        self._server: HttpServer | None = None
        self._engine: Engine | None = None
        self._node: LibprocessNode | None = None
        self._router: Router | None = None

    @property
    def address(self) -> Address:
        """Where it listens, with the real port; once started."""
        assert self._server is not None, "not started"
        return self._server.address

    @property
    def pid(self) -> Pid:
        """`master@host:port` as agents address it; once started."""
        assert self._node is not None, "not started"
        return self._node.pid(_MASTER)

    async def start(self) -> None:
        """Listen and serve; raises MasterError: work_dir or registry taken or unusable, address not to be had."""
        if self._work_dir is not None:
            self._work_dir.take()
        metrics, clock = Metrics(), Clock()
        registry = MeasuredRegistry(self._open_registry, metrics, clock.now)
        router = Router()
        try:
            self._server = await HttpServer.start(router.handle, self._listen, router.receive)
        except BindError as error:
            registry.close()
            self._release()
            raise AddressUnusable(str(self._listen), str(error)) from error
        host, port = self._advertised()
        self._node = LibprocessNode(host, port, self._routes)
        info = _master_info(str(uuid.uuid4()), host, port, self._hostname(host))
        allocator = MeasuredAllocator(build_allocator(self._flags, Random()), metrics, clock.now)
        core = MasterCore(self._flags, info, allocator, registry.state)
        self._engine = Engine(core, self._node, clock, registry)
        router.open(self._engine, self._flags, clock, metrics)
        self._router = router
        self._engine.start()
        _log.info("master %s listens on %s as %s", info.id, self.address, self.pid)

    async def close(self) -> None:
        """Stop listening, drop every connection and give the work_dir back. Nothing is told to agents (as Mesos)."""
        if self._router is not None:
            self._router.close()
        if self._engine is not None:
            await self._engine.close()
        if self._server is not None:
            await self._server.close()
        if self._node is not None:
            await self._node.close()
        self._release()

    def _open_registry(self) -> Registry:
        remembered = self._flags.max_completed_frameworks
        if self._work_dir is None or self._flags.in_memory:
            return MemoryRegistry(remembered)
        try:
            return Registrar.open(self._work_dir.path, remembered)
        except RegistryUnusable:
            self._release()
            raise

    def _release(self) -> None:
        if self._work_dir is not None:
            self._work_dir.release()

    def _advertised(self) -> tuple[str, int]:
        """The address in our pid. One that listens everywhere needs one that others can reach."""
        address = self.address
        host, port = (address.host, address.port) if isinstance(address, TcpAddress) else ("127.0.0.1", 5050)
        if host == _ANY:
            host = _own_address()
        return self._flags.advertise_ip or host, self._flags.advertise_port or port

    def _hostname(self, host: str) -> str:
        if self._flags.hostname is not None:
            return self._flags.hostname
        return _looked_up(host) if self._flags.hostname_lookup else host


def _own_address() -> str:
    """What our host name resolves to (Mesos 1.11 does the same when it listens everywhere)."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def _looked_up(host: str) -> str:
    try:
        return socket.gethostbyaddr(host)[0]
    except OSError:
        return host


def _master_info(master_id: str, host: str, port: int, hostname: str) -> mesos_pb2.MasterInfo:
    info = mesos_pb2.MasterInfo(id=master_id, port=port, pid=f"{_MASTER}@{host}:{port}", hostname=hostname)
    info.ip = int.from_bytes(_packed(host), "little")
    info.version = MESOS_VERSION
    info.address.hostname = hostname
    info.address.ip = host
    info.address.port = port
    kind = mesos_pb2.MasterInfo.Capability.DESCRIPTOR.fields_by_name["type"].number
    for number in _CAPABILITIES:
        info.capabilities.add().ParseFromString(bytes([kind << 3, number]))
    return info


def _packed(host: str) -> bytes:
    try:
        return socket.inet_aton(host)
    except OSError:
        return bytes(4)
