"""What is told of agents, frameworks and offers: the messages of the v1 APIs, made from the books."""

from tfmesos.master.core.books import Agent, Books, Framework, Offer
from tfmesos.master.core.lifecycle import FrameworkState
from tfmesos.resources import Resources
from tfmesos.wire import master_pb2, mesos_pb2

_Agent = master_pb2.Response.GetAgents.Agent
_Capability = mesos_pb2.FrameworkInfo.Capability
_Framework = master_pb2.Response.GetFrameworks.Framework


def describe_agent(target: _Agent, agent: Agent) -> None:
    """Fill an entry of GET_AGENTS and of AGENT_ADDED."""
    target.agent_info.CopyFrom(agent.info)
    del target.agent_info.resources[:]
    target.agent_info.resources.extend(Resources.from_proto(agent.info.resources).to_proto("post"))
    target.active = agent.is_active
    target.deactivated = agent.is_deactivated
    target.version = agent.version
    target.pid = str(agent.pid)
    target.registered_time.nanoseconds = nanoseconds(agent.registered_s)
    if agent.reregistered_s is not None:
        target.reregistered_time.nanoseconds = nanoseconds(agent.reregistered_s)
    target.total_resources.extend(agent.total.to_proto("endpoint"))
    target.allocated_resources.extend(agent.used().to_proto("endpoint"))
    target.offered_resources.extend(agent.offered().to_proto("endpoint"))
    for number in sorted(agent.capabilities):
        target.capabilities.add(type=mesos_pb2.AgentInfo.Capability.Type.ValueType(number))
    if agent.drain is not None:
        target.drain_info.CopyFrom(agent.drain)
        if agent.drain_started_s is not None:
            target.estimated_drain_start_time.nanoseconds = nanoseconds(int(agent.drain_started_s))


def describe_framework(target: _Framework, framework: Framework) -> None:
    """Fill what FRAMEWORK_ADDED and FRAMEWORK_UPDATED say: every time, be it 0, and nothing of offers (recorded)."""
    target.framework_info.CopyFrom(framework.info)
    target.active, target.connected = framework.is_active, framework.is_connected
    target.recovered = framework.life.state is FrameworkState.RECOVERED
    target.registered_time.nanoseconds = nanoseconds(framework.registered_s)
    target.reregistered_time.nanoseconds = nanoseconds(framework.reregistered_s)
    target.unregistered_time.nanoseconds = nanoseconds(framework.unregistered_s)


def describe_framework_fully(target: _Framework, framework: Framework, books: Books) -> None:
    """Fill an entry of GET_FRAMEWORKS."""
    describe_framework(target, framework)
    if not framework.unregistered_s:
        target.ClearField("unregistered_time")
    for offer in framework.offers.values():
        target.offers.append(offer_message(offer, framework, books.agents[offer.agent_id]))
    target.allocated_resources.extend(used_by(framework, books).to_proto("endpoint"))
    target.offered_resources.extend(offered_to(framework).to_proto("endpoint"))
    target.offer_constraints.CopyFrom(framework.offer_constraints)


def used_by(framework: Framework, books: Books) -> Resources:
    """What a framework's tasks and executors use on all agents."""
    agents = {task.agent_id for task in framework.tasks.values() if task.holds}
    agents |= {agent.id for agent, _ in books.executors_of(framework.id)}
    return Resources.total(books.agents[agent_id].used_by(framework.id) for agent_id in agents)


def offered_to(framework: Framework) -> Resources:
    """What a framework's offers hold."""
    return Resources.total(offer.resources for offer in framework.offers.values())


def nanoseconds(seconds: float) -> int:
    """A time as TimeInfo has it."""
    return round(seconds * 1e9)


def offer_message(offer: Offer, framework: Framework, agent: Agent) -> mesos_pb2.Offer:
    """The offer as this framework may see it: in the format and with the roles that it knows."""
    message = mesos_pb2.Offer(hostname=agent.info.hostname)
    message.id.value = offer.id
    message.framework_id.value = framework.id
    message.agent_id.value = agent.id
    resources = offer.resources
    if framework.has(_Capability.MULTI_ROLE):
        message.allocation_info.role = offer.role
    else:
        resources = resources.unallocated()
    is_refined = framework.has(_Capability.RESERVATION_REFINEMENT)
    message.resources.extend(resources.to_proto("post" if is_refined else "pre"))
    message.attributes.extend(agent.info.attributes)
    for executor_id in agent.executors.get(framework.id, {}):
        message.executor_ids.add().value = executor_id
    if agent.info.HasField("domain"):
        message.domain.CopyFrom(agent.info.domain)
    _set_url(message.url, agent)
    return message


def _set_url(url: mesos_pb2.URL, agent: Agent) -> None:
    url.scheme = "http"
    url.address.hostname = agent.info.hostname
    url.address.ip = agent.pid.host
    url.address.port = agent.pid.port
    url.path = f"/{agent.pid.id}"
