"""What operators do with agents: take them out of service and back, drain them, declare them gone."""

from tfmesos.master import allocator as alloc
from tfmesos.master.core.books import Agent
from tfmesos.master.core.events import AgentDrained, Answer
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.partings import Partings
from tfmesos.master.core.registry import MarkAgent
from tfmesos.master.ids import AgentId
from tfmesos.wire import internal_pb2, mesos_pb2

_AGENT_DRAINING = mesos_pb2.AgentInfo.Capability.AGENT_DRAINING
_UNKNOWN = Answer(400, "Unknown agent")
_DONE = Answer(200)


class Drains:
    """Answers operators; a mark outlives this master and the agent's absence until the operator takes it back."""

    def __init__(self, ledger: Ledger, partings: Partings) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._partings = partings

    def drain(self, wish: AgentDrained) -> None:
        """Offer nothing of the agent and have its tasks killed; drained (or gone) as soon as none is left."""
        agent = self._books.agents.get(wish.agent_id)
        if not self._is_known(wish.agent_id):
            self._ledger.emit(_UNKNOWN)
            return
        if agent is not None and _AGENT_DRAINING not in agent.capabilities:
            self._ledger.emit(Answer(400, "Agent is not capable of being drained"))
            return
        info = mesos_pb2.DrainInfo(state=mesos_pb2.DRAINING)
        info.config.mark_gone = wish.mark_gone
        if wish.max_grace_s is not None:
            info.config.max_grace_period.nanoseconds = round(wish.max_grace_s * 1e9)
        self._mark(MarkAgent(agent_id=wish.agent_id, is_deactivated=True, drain=info, drain_started_s=self._ledger.now))
        if agent is not None:
            self._tell_drain(agent)
            self._check(agent)
        self._ledger.emit(_DONE)

    def deactivate(self, agent_id: AgentId) -> None:
        """Offer nothing of the agent; what runs goes on."""
        if not self._is_known(agent_id):
            self._ledger.emit(_UNKNOWN)
            return
        if agent_id not in self._books.registry.marks:
            self._mark(MarkAgent(agent_id=agent_id, is_deactivated=True))
        self._ledger.emit(_DONE)

    def reactivate(self, agent_id: AgentId) -> None:
        """Offer the agent again."""
        marks = self._books.registry.marks.get(agent_id)
        if not self._is_known(agent_id):
            self._ledger.emit(_UNKNOWN)
        elif marks is None:
            self._ledger.emit(Answer(400, "Agent is not deactivated"))
        elif marks.drain is not None and marks.drain.state == mesos_pb2.DRAINING:
            self._ledger.emit(Answer(400, "Agent is still in the DRAINING state"))
        else:
            self._mark(MarkAgent(agent_id=agent_id, is_deactivated=False))
            self._ledger.emit(_DONE)

    def mark_gone(self, agent_id: AgentId) -> None:
        """The agent is lost for good, with all that ran on it; it is shut down if it can be reached."""
        if agent_id in self._books.gone_agents:
            self._ledger.emit(_DONE)
        elif not self._is_known(agent_id):
            self._ledger.emit(Answer(404, f"Agent '{agent_id}' not found"))
        else:
            self._partings.end(agent_id)
            self._ledger.emit(_DONE)

    def admit(self, agent: Agent) -> None:
        """An agent came back: its marks hold, and a drain goes on (Mesos 1.11 tells it again)."""
        if agent.marks is None:
            return
        self._ledger.inform(alloc.AgentSetActive(agent_id=agent.id, is_active=False))
        if agent.drain is not None:
            self._tell_drain(agent)
            self._check(agent)

    def check_lighter(self) -> None:
        """Look at the draining agents that lost a task."""
        lighter, self._ledger.lighter_drains = self._ledger.lighter_drains, {}
        for agent in lighter.values():
            if agent.id in self._books.agents:
                self._check(agent)

    def _check(self, agent: Agent) -> None:
        """Whether a draining agent is empty now; then it is drained, or gone if that was wanted.

        Of a disconnected one nobody knows what runs there still.
        """
        drain = agent.drain
        if drain is None or drain.state != mesos_pb2.DRAINING or any(agent.all_tasks()) or not agent.is_connected:
            return
        self._ledger.log(f"{agent} is drained")
        if drain.config.mark_gone:
            self._partings.end(agent.id)
            return
        drained = mesos_pb2.DrainInfo()
        drained.CopyFrom(drain)
        drained.state = mesos_pb2.DRAINED
        started_s = agent.drain_started_s
        self._mark(MarkAgent(agent_id=agent.id, is_deactivated=True, drain=drained, drain_started_s=started_s))

    def _is_known(self, agent_id: AgentId) -> bool:
        return (
            agent_id in self._books.agents
            or agent_id in self._books.recovered_agents
            or agent_id in self._books.unreachable_agents
        )

    def _mark(self, marks: MarkAgent) -> None:
        self._ledger.record(marks)
        agent = self._books.agents.get(marks.agent_id)
        if agent is None:
            return
        was_active = agent.is_active
        agent.marks = self._books.registry.marks.get(agent.id)
        if agent.is_active == was_active:
            return
        self._ledger.inform(alloc.AgentSetActive(agent_id=agent.id, is_active=agent.is_active))
        self._ledger.withdraw_offers(agent.offers.values(), rescind=True)
        self._ledger.wants_allocation |= agent.is_active
        self._ledger.log(f"{agent} is {'active again' if agent.is_active else 'deactivated'}")

    def _tell_drain(self, agent: Agent) -> None:
        if agent.drain is not None and agent.drain.state == mesos_pb2.DRAINING and agent.is_connected:
            self._ledger.send(agent, internal_pb2.DrainSlaveMessage(config=agent.drain.config))
