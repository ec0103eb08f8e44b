"""Offer constraints: of which agents a framework wants offers for a role (Mesos 1.11: offer_constraints_filter.cpp)."""

from tfmesos.master.allocator.events import AgentTraits
from tfmesos.wire import scheduler_pb2

_Constraint = scheduler_pb2.AttributeConstraint
_Selector = scheduler_pb2.AttributeConstraint.Selector


def is_wanted(traits: AgentTraits, constraints: scheduler_pb2.OfferConstraints.RoleConstraints) -> bool:
    """Whether all constraints of at least one group hold for the agent."""
    return any(all(_holds(traits, one) for one in group.attribute_constraints) for group in constraints.groups)


def _holds(traits: AgentTraits, constraint: _Constraint) -> bool:
    exists, text = _selected(traits, constraint.selector)
    predicate = constraint.predicate
    match predicate.WhichOneof("predicate"):
        case "exists":
            return exists
        case "not_exists":
            return not exists
        case "text_equals":
            return exists and text in (predicate.text_equals.value, None)
        case _:
            return not exists or text is None or text != predicate.text_not_equals.value


def _selected(traits: AgentTraits, selector: _Selector) -> tuple[bool, str | None]:
    """Whether the agent has it, and its text; None for numbers and ranges, of which texts cannot be wrong."""
    if selector.HasField("attribute_name"):
        name = selector.attribute_name
        return name in traits.attributes, traits.attributes.get(name)
    pseudo = {
        _Selector.HOSTNAME: traits.hostname,
        _Selector.REGION: traits.region,
        _Selector.ZONE: traits.zone,
    }[selector.pseudoattribute_type]
    return pseudo is not None, pseudo
