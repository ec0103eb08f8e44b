"""Who this agent is: its address, its names, what it offers."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.discovery import Leader
from tfmesos.resources import Resources
from tfmesos.transport import Address, Pid, TcpAddress
from tfmesos.version import MESOS_VERSION
from tfmesos.wire import internal_pb2, mesos_pb2

AGENT_ID = "slave(1)"
"""The name of an agent's libprocess process."""

_Capability = mesos_pb2.AgentInfo.Capability
# What exists here. Without RESOURCE_PROVIDER the master sends CheckpointResourcesMessage instead of operations to be
# answered; without TASK_RESOURCE_LIMITS it refuses tasks with limits by itself.
CAPABILITIES = (
    _Capability.MULTI_ROLE,
    _Capability.HIERARCHICAL_ROLE,
    _Capability.RESERVATION_REFINEMENT,
    _Capability.AGENT_DRAINING,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What the agent tells of itself; its id is the master's to give."""

    pid: Pid
    hostname: str
    resources: Resources
    attributes: Sequence[mesos_pb2.Attribute] = ()
    resource_version: bytes = field(default_factory=lambda: uuid.uuid4().bytes)
    """Another for each start: what is offered does not change in between."""

    def info(self, agent_id: str | None = None) -> mesos_pb2.AgentInfo:
        """As agents register: resources in the format from before refined reservations, and `checkpoint`."""
        info = mesos_pb2.AgentInfo(hostname=self.hostname, port=self.pid.port, checkpoint=True)
        info.resources.extend(self.resources.to_proto("pre"))
        info.attributes.extend(self.attributes)
        if agent_id is not None:
            info.id.value = agent_id
        return info

    def described(self, agent_id: str) -> mesos_pb2.AgentInfo:
        """As v1 clients and executors are told."""
        info = self.info(agent_id)
        del info.resources[:]
        info.resources.extend(self.resources.to_proto("post"))
        return info

    def registration(self, checkpointed: Sequence[mesos_pb2.Resource]) -> internal_pb2.RegisterSlaveMessage:
        """The message of an agent that has no id yet."""
        message = internal_pb2.RegisterSlaveMessage(slave=self.info(), version=MESOS_VERSION)
        message.checkpointed_resources.extend(checkpointed)
        message.agent_capabilities.extend(_Capability(type=kind) for kind in CAPABILITIES)
        message.resource_version_uuid.value = self.resource_version
        return message

    def reregistration(
        self, agent_id: str, checkpointed: Sequence[mesos_pb2.Resource]
    ) -> internal_pb2.ReregisterSlaveMessage:
        """The message of an agent that has one, still without its tasks and frameworks."""
        message = internal_pb2.ReregisterSlaveMessage(slave=self.info(agent_id), version=MESOS_VERSION)
        message.checkpointed_resources.extend(checkpointed)
        message.agent_capabilities.extend(_Capability(type=kind) for kind in CAPABILITIES)
        message.resource_version_uuid.value = self.resource_version
        return message

    def resources_update(self, agent_id: str) -> internal_pb2.UpdateSlaveMessage:
        """What follows each registration (Mesos 1.11): the version, and that there are no providers of resources."""
        message = internal_pb2.UpdateSlaveMessage(update_oversubscribed_resources=False)
        message.slave_id.value = agent_id
        message.operations.SetInParent()
        message.resource_providers.SetInParent()
        message.resource_version_uuid.value = self.resource_version
        return message


def address_towards(leader: Leader) -> str:
    """The address of this machine that routes to the master; raises BadAgentFlags when it cannot be told."""
    address = leader.address
    if not isinstance(address, TcpAddress):
        raise BadAgentFlags(f"the master listens on {address}: give --ip, the address this agent shall listen on")
    host = leader.pid.host if leader.pid else address.host
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, address.port))  # sends nothing
            return str(probe.getsockname()[0])
    except OSError as error:
        raise BadAgentFlags(
            f"no address of this machine routes to the master at {address} ({error}); give --ip"
        ) from error


def checked_ip(text: str, flag: str) -> str:
    """An IPv4 address as --ip and --advertise_ip want it; libprocess knows no other. Raises BadAgentFlags."""
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError as error:
        raise BadAgentFlags(f"--{flag}: {text!r} is not an IPv4 address") from error


def advertised_pid(flags: AgentFlags, bound: Address, ip: str) -> Pid:
    """What peers are told: the advertised address, else the one that is listened on."""
    port = bound.port if isinstance(bound, TcpAddress) else flags.port
    host = checked_ip(flags.advertise_ip, "advertise_ip") if flags.advertise_ip else ip
    return Pid(AGENT_ID, host, flags.advertise_port or port)


async def hostname_of(flags: AgentFlags, pid: Pid) -> str:
    """What offers carry: --hostname, else the name of the address, else the address."""
    if flags.hostname:
        return flags.hostname
    if not flags.hostname_lookup:
        return pid.host
    try:
        name, _ = await asyncio.get_running_loop().getnameinfo((pid.host, 0), socket.NI_NAMEREQD)
    except OSError:
        return pid.host
    return name
