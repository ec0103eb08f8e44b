"""The life of agents: register, return, pings, disconnect, unreachable, removal."""

import re
from collections.abc import Iterable

from tfmesos.master import allocator as alloc
from tfmesos.master.core.books import Agent, Task
from tfmesos.master.core.drains import Drains
from tfmesos.master.core.events import CancelTimer, Link, ReregistrationOver, Send
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.lifecycle import AgentState
from tfmesos.master.core.observers import Observers
from tfmesos.master.core.partings import Partings
from tfmesos.master.core.registry import AdmitAgent
from tfmesos.master.core.returns import Returns
from tfmesos.master.flags import MasterFlags
from tfmesos.master.ids import AgentId
from tfmesos.master.validation import agent_error, return_error
from tfmesos.resources import Resources, ResourcesError
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2, mesos_pb2

_Capability = mesos_pb2.AgentInfo.Capability
_SEMANTIC_VERSION = re.compile(r"[1-9]\d*\.\d+\.\d+([-+].*)?")


class Registrations:
    """Agents come, answer pings, and go."""

    def __init__(
        self,
        ledger: Ledger,
        flags: MasterFlags,
        returns: Returns,
        partings: Partings,
        drains: Drains,
        observers: Observers,
    ) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._flags = flags
        self._returns = returns
        self._partings = partings
        self._drains = drains
        self._observers = observers

    def register(self, sender: Pid, message: internal_pb2.RegisterSlaveMessage) -> None:
        """A new agent; one that is registered already gets its answer again (Mesos 1.11)."""
        total = self._accepted_total(sender, message)
        if total is None:
            return
        known = self._books.agents_by_pid.get(sender)
        if known is not None and known.is_connected:
            self._greet(known)
            return
        if known is not None:
            self._partings.remove(known, "a new agent registered at the same address", "registered")
        info = mesos_pb2.AgentInfo()
        info.CopyFrom(message.slave)
        info.id.value = self._books.new_agent_id()
        agent = self._enter(info, sender, message, total)
        self._books.counts["slave_registrations"] += 1
        self._ledger.log(f"registered {agent} with {total}")
        self._greet(agent)
        self._admit(agent)

    def reregister(self, sender: Pid, message: internal_pb2.ReregisterSlaveMessage) -> None:
        """An agent with an id: one of ours that was away, or one that knew another master."""
        if error := return_error(message):
            self._ledger.warn(f"ignored an agent at {sender}: {error}")
            return
        total = self._accepted_total(sender, message)
        if total is None:
            return
        agent_id = AgentId(message.slave.id.value)
        if agent_id in self._books.gone_agents:
            self._refuse(sender, f"agent {agent_id}", "Agent has been marked gone")
            return
        other = self._books.agents_by_pid.get(sender)
        if other is not None and other.id != agent_id:
            self._partings.remove(other, "a new agent registered at the same address", "registered")
        agent = self._books.agents.get(agent_id)
        if agent is None:
            self._readmit(sender, message, total)
        elif agent.pid.host != sender.host or agent.info.hostname != message.slave.hostname:
            self._refuse(sender, str(agent), "Agent attempted to reregister with different IP / hostname")
        else:
            self._welcome_back(agent, sender, message, total)

    def update(self, agent: Agent, message: internal_pb2.UpdateSlaveMessage) -> None:
        """An agent's resource version or what it can spare (oversubscription) changed."""
        if message.HasField("resource_version_uuid"):
            agent.resource_version = message.resource_version_uuid.value
        if not message.update_oversubscribed_resources:
            return
        try:
            spare = Resources.from_proto(message.oversubscribed_resources)
        except ResourcesError as error:
            self._ledger.warn(f"ignored oversubscribed resources of {agent}: {error}")
            return
        self._set_total(agent, agent.total.nonrevocable() + spare)

    def unregister(self, agent: Agent) -> None:
        """The agent leaves for good."""
        self._partings.remove(agent, "the agent unregistered", "unregistered")

    def break_link(self, pid: Pid) -> None:
        """The connection to an agent ended."""
        agent = self._books.agents_by_pid.get(pid)
        if agent is not None and agent.is_connected:
            self._partings.disconnect(agent, self._flags.agent_reregister_timeout)

    def _refuse(self, sender: Pid, name: str, text: str) -> None:
        """Shut down an agent that may not be one of ours."""
        self._ledger.warn(f"shut {name} down: {text}")
        self._ledger.emit(Send(sender, internal_pb2.ShutdownMessage(message=text)))

    def _accepted_total(
        self, sender: Pid, message: internal_pb2.RegisterSlaveMessage | internal_pb2.ReregisterSlaveMessage
    ) -> Resources | None:
        """The agent's resources if its message makes sense; None (and a log line) if it is to be ignored."""
        if not sender or not _SEMANTIC_VERSION.fullmatch(message.version):
            self._ledger.warn(f"ignored an agent at {sender}: it has no pid or no version of 1.0.0 or later")
            return None
        if text := agent_error(message.slave):
            self._ledger.warn(f"ignored an agent at {sender}: {text}")
            return None
        try:
            return Resources.from_proto(message.slave.resources)
        except ResourcesError as error:
            self._ledger.warn(f"ignored an agent at {sender}: {error}")
            return None

    def _enter(
        self,
        info: mesos_pb2.AgentInfo,
        pid: Pid,
        message: internal_pb2.RegisterSlaveMessage | internal_pb2.ReregisterSlaveMessage,
        total: Resources,
    ) -> Agent:
        agent = Agent(info, pid, self._ledger.now)
        self._describe(agent, message)
        agent.total = total
        agent.marks = self._books.registry.marks.get(agent.id)
        agent.observer = self._books.new_observer()
        self._books.agents[agent.id] = agent
        self._books.recovered_agents.pop(agent.id, None)
        self._record(agent)
        self._books.agents_by_pid[pid] = agent
        self._books.agents_by_observer[agent.observer] = agent
        self._ledger.emit(Link(pid))
        return agent

    def _record(self, agent: Agent) -> None:
        info = mesos_pb2.AgentInfo()
        info.CopyFrom(agent.info)
        admission = AdmitAgent(info=info, pid=str(agent.pid))
        if self._books.registry.admitted.get(agent.id) != admission:
            self._ledger.record(admission)

    def _describe(
        self, agent: Agent, message: internal_pb2.RegisterSlaveMessage | internal_pb2.ReregisterSlaveMessage
    ) -> None:
        agent.version = message.version
        agent.capabilities = frozenset(int(one.type) for one in message.agent_capabilities)
        agent.resource_version = message.resource_version_uuid.value

    def _admit(self, agent: Agent) -> None:
        """Tell the allocator of a new agent, with what runs on it already."""
        self._ledger.inform(
            alloc.AgentAdded(
                agent_id=agent.id,
                total=agent.total,
                used={framework_id: agent.used_by(framework_id) for framework_id in {*agent.tasks, *agent.executors}},
                traits=agent_traits(agent),
            )
        )
        self._ledger.announce.agent_added(agent)
        self._ledger.wants_allocation = True

    def _greet(self, agent: Agent) -> None:
        """Confirm a registration and begin to ping."""
        message = internal_pb2.SlaveRegisteredMessage()
        message.slave_id.value = agent.id
        message.connection.total_ping_timeout_seconds = self._total_ping_timeout_s()
        self._ledger.send(agent, message)
        self._observers.observe(agent)

    def _total_ping_timeout_s(self) -> float:
        return self._flags.agent_ping_timeout * self._flags.max_agent_ping_timeouts

    def _set_total(self, agent: Agent, total: Resources) -> None:
        """Offers show the old total: they end."""
        if total != agent.total:
            self._ledger.withdraw_offers(agent.offers.values(), rescind=True)
            agent.total = total
            self._ledger.inform(alloc.AgentUpdated(agent_id=agent.id, total=total))
            self._ledger.wants_allocation = True

    # --- agents that return ---

    def _readmit(self, sender: Pid, message: internal_pb2.ReregisterSlaveMessage, total: Resources) -> None:
        """An agent that is unknown or was given up: it brings its tasks, executors and frameworks."""
        tasks = self._returns.tasks_of(message)
        executors = self._returns.executors_of(message)
        if tasks is None or executors is None or not _fits(total, tasks, (one.resources for _, one in executors)):
            self._ledger.warn(f"ignored agent {message.slave.id.value!r}: it lists tasks beyond its resources")
            return
        info = mesos_pb2.AgentInfo()
        info.CopyFrom(message.slave)
        was_unreachable = AgentId(info.id.value) in self._books.unreachable_agents
        agent = self._enter(info, sender, message, total)
        agent.reregistered_s = self._ledger.now
        self._books.counts["slave_reregistrations"] += 1
        self._ledger.log(f"registered again {agent} with {total} and {len(tasks)} tasks")
        self._returns.bring(agent, message, tasks, executors)
        self._admit(agent)
        self._returns.tell_states(agent, was_unreachable=was_unreachable)
        self._observers.observe(agent)
        self._confirm(agent, message, ())
        self._drains.admit(agent)

    def _welcome_back(
        self, agent: Agent, sender: Pid, message: internal_pb2.ReregisterSlaveMessage, total: Resources
    ) -> None:
        """One of ours: its link is made anew, its tasks are compared with ours."""
        self._books.agents_by_pid.pop(agent.pid, None)
        self._books.agents_by_pid[sender] = agent
        agent.pid = sender
        self._renew(agent, message)
        agent.life.step(AgentState.CONNECTED)
        agent.reregistered_s = self._ledger.now
        self._observers.see_alive(agent)
        self._books.counts["slave_reregistrations"] += 1
        self._ledger.log(f"registered again {agent}")
        self._ledger.emit(Link(sender), CancelTimer(ReregistrationOver(agent.id)))
        self._set_total(agent, total)
        reconciliations = self._returns.compare(agent, message)
        self._ledger.inform(alloc.AgentSetActive(agent_id=agent.id, is_active=agent.is_active))
        self._ledger.wants_allocation = True
        self._confirm(agent, message, reconciliations)
        self._drains.admit(agent)

    def _renew(self, agent: Agent, message: internal_pb2.ReregisterSlaveMessage) -> None:
        """Take over what the agent says of itself; what was refused of it may be wanted as it is now."""
        before = agent_traits(agent)
        agent.info.CopyFrom(message.slave)
        self._describe(agent, message)
        self._record(agent)
        traits = agent_traits(agent)
        if traits != before:
            self._ledger.withdraw_offers(agent.offers.values(), rescind=True)
            self._ledger.inform(alloc.AgentChanged(agent_id=agent.id, traits=traits))

    def _confirm(
        self,
        agent: Agent,
        message: internal_pb2.ReregisterSlaveMessage,
        reconciliations: Iterable[internal_pb2.ReconcileTasksMessage],
    ) -> None:
        confirmation = internal_pb2.SlaveReregisteredMessage()
        confirmation.slave_id.value = agent.id
        confirmation.connection.total_ping_timeout_seconds = self._total_ping_timeout_s()
        confirmation.reconciliations.extend(reconciliations)
        self._ledger.send(agent, confirmation)
        self._returns.tell_agent(agent, message)


def agent_traits(agent: Agent) -> alloc.AgentTraits:
    """What the allocator has to know of an agent."""
    texts = {one.name: one.text.value if one.HasField("text") else None for one in reversed(agent.info.attributes)}
    domain = agent.info.domain.fault_domain
    return alloc.AgentTraits(
        multi_role=_Capability.MULTI_ROLE in agent.capabilities,
        hierarchical=_Capability.HIERARCHICAL_ROLE in agent.capabilities,
        hostname=agent.info.hostname,
        region=domain.region.name if domain.HasField("region") else None,
        zone=domain.zone.name if domain.HasField("zone") else None,
        attributes=texts,
    )


def _fits(total: Resources, tasks: Iterable[Task], others: Iterable[Resources]) -> bool:
    used = sum((*(task.resources for task in tasks if task.holds), *others), Resources())
    return total.contains(used.unallocated())
