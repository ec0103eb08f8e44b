"""Whether agents live: pings and pongs, and giving up those that do not answer, not too many at once."""

from tfmesos.flags import format_duration
from tfmesos.master.core.books import Agent
from tfmesos.master.core.events import CancelTimer, PingDue, RecoveryOver, RemovalDue, Send, SetTimer
from tfmesos.master.core.ledger import Ledger
from tfmesos.master.core.partings import Partings
from tfmesos.master.flags import MasterFlags
from tfmesos.master.ids import AgentId
from tfmesos.transport import Pid
from tfmesos.wire import internal_pb2

_NO_OBSERVER = "slave-observer(0)"
"""Its pongs need no answer."""


class Pace:
    """Lets so many through in so long, evenly spaced, the first at once (Mesos 1.11: --agent_removal_rate_limit)."""

    def __init__(self, count: int, interval_s: float) -> None:
        self._spacing_s = interval_s / count
        self._next_s = 0.0

    def reserve(self, now: float) -> float:
        """Take the next free moment; returns how long to wait for it."""
        moment_s = max(now, self._next_s)
        self._next_s = moment_s + self._spacing_s
        return moment_s - now


class Observers:
    """Each agent has one while it is registered, also while it is disconnected."""

    def __init__(self, ledger: Ledger, flags: MasterFlags, partings: Partings) -> None:
        self._ledger = ledger
        self._books = ledger.books
        self._flags = flags
        self._partings = partings
        self._pace = Pace(*flags.agent_removal_rate_limit) if flags.agent_removal_rate_limit else None
        self._given_up: set[AgentId] = set()
        """Agents that wait for their turn to be unreachable."""

    def start(self) -> None:
        """Give agents from before the restart their time to come back, and tell them that it runs.

        Mesos 1.11: an agent re-registers at once when a ping says that it is not connected; else it would wait for
        pings for 75 s. (Mesos' own master does not do that.)
        """
        if not self._books.recovered_agents:
            return
        self._ledger.log(f"{len(self._books.recovered_agents)} agents are expected back")
        self._ledger.emit(SetTimer(RecoveryOver(), self._flags.agent_reregister_timeout))
        ping = internal_pb2.PingSlaveMessage(connected=False)
        for admission in self._books.registry.admitted.values():
            if pid := Pid.parse(admission.pid):
                self._ledger.emit(Send(pid, ping, _NO_OBSERVER))

    def observe(self, agent: Agent) -> None:
        """Begin to ping, or go on with a clean record."""
        self.see_alive(agent)
        self._send_ping(agent)

    def pong(self, observer: int) -> None:
        """An agent answered."""
        self.see_alive(self._books.agents_by_observer[observer])

    def see_alive(self, agent: Agent) -> None:
        """It lives: it need not be given up any more."""
        agent.missed_pings = 0
        if agent.id in self._given_up:
            self._given_up.discard(agent.id)
            self._books.counts["slave_unreachable_canceled"] += 1
            self._ledger.emit(CancelTimer(RemovalDue(agent.id)))

    def ping(self, agent_id: AgentId, observer: int) -> None:
        """Ping again, or give an agent up that did not answer so often."""
        agent = self._books.agents.get(agent_id)
        if agent is None or agent.observer != observer:
            return
        is_lost = agent.missed_pings >= self._flags.max_agent_ping_timeouts
        self._send_ping(agent)
        if is_lost:
            self._give_up(agent_id)

    def give_up_recovered(self) -> None:
        """The time is over for agents from before the restart."""
        for agent_id in list(self._books.recovered_agents):
            self._give_up(agent_id)

    def give_up_disconnected(self, agent_id: AgentId) -> None:
        """A disconnected agent had its time."""
        agent = self._books.agents.get(agent_id)
        if agent is not None and not agent.is_connected:
            timeout = format_duration(self._flags.agent_reregister_timeout)
            self._partings.lose(agent, f"agent did not reregister within {timeout} after disconnecting")

    def remove(self, agent_id: AgentId) -> None:
        """The turn of an agent that was given up has come."""
        self._given_up.discard(agent_id)
        agent = self._books.agents.get(agent_id)
        if agent is not None:
            self._partings.lose(agent, "health check timed out")
        elif agent_id in self._books.recovered_agents:
            self._partings.lose_recovered(agent_id)

    def _give_up(self, agent_id: AgentId) -> None:
        if agent_id in self._given_up:
            return
        self._books.counts["slave_unreachable_scheduled"] += 1
        delay_s = self._pace.reserve(self._ledger.now) if self._pace else 0.0
        if delay_s <= 0:
            self.remove(agent_id)
            return
        self._given_up.add(agent_id)
        self._ledger.emit(SetTimer(RemovalDue(agent_id), delay_s))

    def _send_ping(self, agent: Agent) -> None:
        ping = internal_pb2.PingSlaveMessage(connected=agent.is_connected)
        self._ledger.emit(
            Send(agent.pid, ping, f"slave-observer({agent.observer})"),
            SetTimer(PingDue(agent.id, agent.observer), self._flags.agent_ping_timeout),
        )
        agent.missed_pings += 1
