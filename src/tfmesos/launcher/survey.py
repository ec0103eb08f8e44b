"""Why a job waits: what the agents of the cluster have, and what each lacks. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfmesos.launcher.placement import AMOUNTS, Wish
from tfmesos.resources import Ranges, Resources, ResourcesError, thousandths

TOO_LITTLE = {"gpus": "too few gpus", "cpus": "too few cpus", "mem": "too little mem"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTotal:
    """One agent as the master's /slaves shows it: what of it a role may use, and how much of that others use now."""

    id: str
    hostname: str
    active: bool
    usable: Mapping[str, int]
    free: Mapping[str, int]
    has_gpus: bool
    reserved_elsewhere: bool

    def lacks(self, wish: Wish, amounts: Mapping[str, int]) -> str | None:
        """The first thing that `amounts` lacks for one task."""
        for name in AMOUNTS:
            if wish.amount(name) > amounts[name]:
                if name == "gpus" and not amounts[name]:
                    return "no gpus"
                return TOO_LITTLE[name]
        return None if amounts["ports"] else "no ports"


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All agents, and which of them ever made us an offer."""

    agents: Sequence[AgentTotal]
    offered: Collection[str]
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Why a gang is not placed. `is_final`: the agents as they are can never hold it."""

    text: str
    is_final: bool


def explain(wishes: Sequence[Wish], survey: Survey) -> Shortage:
    """Say in plain words, with numbers, why the gang waits."""
    if not survey.agents:
        return Shortage(text="no agent is registered with the master", is_final=False)
    wants_gpus = any(wish.amount("gpus") for wish in wishes)
    if wants_gpus and not any(agent.usable["gpus"] for agent in survey.agents):
        with_gpus = sum(agent.has_gpus for agent in survey.agents)
        needed = max(wish.amount("gpus") for wish in wishes)
        text = f"needs {_number(needed)} gpus, largest possible 0: no agent offers gpus"
        return Shortage(text=f"{text} ({_agents(len(survey.agents))} seen, {with_gpus} with gpus)", is_final=True)
    hidden = [] if wants_gpus else [agent for agent in survey.agents if _is_hidden(agent, survey)]
    visible = [agent for agent in survey.agents if agent not in hidden]
    if not visible:
        text = f"the master hides {_agents(len(hidden))}, all there are, from jobs without gpus, as they have gpus"
        return Shortage(text=f"{text} (--filter_gpu_resources)", is_final=True)
    return (
        _explain_task(wishes, survey, visible, hidden)
        or _explain_gang(wishes, survey, visible, hidden)
        or _explain_busy(wishes, survey, visible, hidden)
    )


def _explain_task(
    wishes: Sequence[Wish], survey: Survey, visible: Sequence[AgentTotal], hidden: Sequence[AgentTotal]
) -> Shortage | None:
    """One task is larger than every agent."""
    for wish in sorted(wishes, key=lambda wish: [wish.amount(name) for name in AMOUNTS], reverse=True):
        reasons = [agent.lacks(wish, agent.usable) for agent in visible]
        if visible and None in reasons:
            continue
        what = _largest(wish, visible)
        return Shortage(text=f"{wish.key} {what} ({_counts(wish, survey, hidden, total=True)})", is_final=True)
    return None


def _largest(wish: Wish, visible: Sequence[AgentTotal]) -> str:
    for name in AMOUNTS:
        largest = max((agent.usable[name] for agent in visible), default=0)
        if wish.amount(name) > largest:
            return f"needs {_number(wish.amount(name))} {name}, largest possible {_number(largest)}"
    if not any(agent.usable["ports"] for agent in visible):
        return "needs a port, and no agent offers ports"
    parts = ", ".join(f"{_number(wish.amount(name))} {name}" for name in AMOUNTS if wish.amount(name))
    return f"needs {parts} on one agent, and no agent has all of it"


def _explain_gang(
    wishes: Sequence[Wish], survey: Survey, visible: Sequence[AgentTotal], hidden: Sequence[AgentTotal]
) -> Shortage | None:
    """Every task fits somewhere, all together do not."""
    largest_task = max(wishes, key=lambda wish: [wish.amount(name) for name in AMOUNTS])
    counts = _counts(largest_task, survey, hidden, total=True)
    for name in AMOUNTS:
        needed = sum(wish.amount(name) for wish in wishes)
        possible = sum(agent.usable[name] for agent in visible)
        if needed > possible:
            text = f"the job needs {_number(needed)} {name}, largest possible {_number(possible)} ({counts})"
            return Shortage(text=text, is_final=True)
    ports = sum(agent.usable["ports"] for agent in visible)
    if len(wishes) > ports:
        text = f"the job needs {len(wishes)} ports, largest possible {ports} ({counts})"
        return Shortage(text=text, is_final=True)
    return None


def _explain_busy(
    wishes: Sequence[Wish], survey: Survey, visible: Sequence[AgentTotal], hidden: Sequence[AgentTotal]
) -> Shortage:
    """It would fit, were everything free."""
    largest_task = max(wishes, key=lambda wish: [wish.amount(name) for name in AMOUNTS])
    counts = _counts(largest_task, survey, hidden, total=False)
    for name in AMOUNTS:
        needed = sum(wish.amount(name) for wish in wishes)
        free = sum(agent.free[name] for agent in visible)
        if needed > free:
            text = f"the job needs {_number(needed)} {name}, {_number(free)} are free now ({counts})"
            return Shortage(text=text, is_final=False)
    needed_text = ", ".join(
        f"{_number(sum(wish.amount(name) for wish in wishes))} {name}"
        for name in AMOUNTS
        if any(wish.amount(name) for wish in wishes)
    )
    text = f"the job needs {needed_text} at once, and the free parts do not hold it ({counts})"
    return Shortage(text=text, is_final=False)


def _counts(wish: Wish, survey: Survey, hidden: Sequence[AgentTotal], *, total: bool) -> str:
    """`12 agents: 4 no gpus, 6 too little mem, 2 in use`: the first reason of each agent."""
    reasons: Counter[str] = Counter()
    for agent in survey.agents:
        reason = _reason(agent, wish, survey.role, is_hidden=agent in hidden, total=total)
        if reason:
            reasons[reason] += 1
    details = ", ".join(f"{number} {reason}" for reason, number in reasons.most_common())
    agents = _agents(len(survey.agents))
    return f"{agents}: {details}" if details else agents


def _reason(agent: AgentTotal, wish: Wish, role: str, *, is_hidden: bool, total: bool) -> str | None:
    if not agent.active:
        return "not active"
    if is_hidden:
        return "with gpus, which the master's GPU filter hides from jobs without gpus"
    lack = agent.lacks(wish, agent.usable)
    if lack and agent.reserved_elsewhere:
        return f"reserved to roles other than {role}"
    if lack:
        return lack
    return "in use by others" if not total and agent.lacks(wish, agent.free) else None


def _is_hidden(agent: AgentTotal, survey: Survey) -> bool:
    """Has cards and something free, and never made us an offer (Mesos 1.11: --filter_gpu_resources, on by default)."""
    has_free = agent.free["cpus"] > 0 and agent.free["mem"] > 0
    return agent.has_gpus and agent.active and has_free and agent.id not in survey.offered


def build_survey(slaves: Mapping[str, Any], role: str, offered: Collection[str]) -> Survey:
    """From the JSON of a master's /slaves; agents that cannot be understood are left out."""
    agents = []
    listed = slaves.get("slaves")
    for agent in listed if isinstance(listed, list) else []:
        try:
            agents.append(_agent_total(agent, role))
        except (AttributeError, LookupError, TypeError, ValueError, ResourcesError):
            continue
    return Survey(agents=tuple(agents), offered=frozenset(offered), role=role)


def _agent_total(agent: Mapping[str, Any], role: str) -> AgentTotal:
    unreserved = _amounts(agent.get("unreserved_resources", agent.get("resources", {})))
    reserved = _mapping(agent.get("reserved_resources") or {})
    ours = [_amounts(of) for holder, of in reserved.items() if holder == role or role.startswith(f"{holder}/")]
    theirs = [of for holder, of in reserved.items() if holder != role and not role.startswith(f"{holder}/")]
    usable = {name: sum(of[name] for of in [unreserved, *ours]) for name in (*AMOUNTS, "ports")}
    everything = _amounts(agent.get("resources", {}))
    taken = [_amounts(agent.get(name) or {}) for name in ("used_resources", "offered_resources")]
    taken += [_amounts(of) for of in theirs]
    free = {name: max(0, min(usable[name], everything[name] - sum(of[name] for of in taken))) for name in usable}
    return AgentTotal(
        id=str(agent["id"]),
        hostname=str(agent.get("hostname", "")),
        active=bool(agent.get("active", True)),
        usable=usable,
        free=free,
        has_gpus=everything["gpus"] > 0,
        reserved_elsewhere=bool(theirs),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"not an object: {value!r}")
    return value


def _amounts(of: object) -> dict[str, int]:
    """Thousandths of scalars and the number of ports, of a summary as /slaves has it."""
    summary = _mapping(of)
    amounts = {name: _amount(summary.get(name, 0)) for name in AMOUNTS}
    ports = summary.get("ports")
    ranges = Resources.parse(f"ports:{ports}").ranges("ports") if ports else Ranges()
    return {**amounts, "ports": len(ranges)}


def _amount(value: Any) -> int:
    """Thousandths of a number, or of the names in a set, `{GPU-a, GPU-b}`: so Mesos before 1.0 tells of GPUs."""
    if isinstance(value, str):
        return 1000 * sum(map(bool, value.strip("{}").split(",")))
    return thousandths(float(value))


def _number(thousandths: int) -> str:
    return f"{thousandths / 1000:g}" if thousandths % 1000 else str(thousandths // 1000)


def _agents(number: int) -> str:
    return f"{number} agent" if number == 1 else f"{number} agents"
