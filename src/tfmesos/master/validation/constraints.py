"""Offer constraints: whether they are well formed, and such that this master can obey them."""

from tfmesos.wire import scheduler_pb2

_Constraint = scheduler_pb2.AttributeConstraint
_OBEYED = ("exists", "not_exists", "text_equals", "text_not_equals")


def constraints_error(constraints: scheduler_pb2.OfferConstraints) -> str | None:
    """What is wrong with them; None if nothing is."""
    for role, one in constraints.role_constraints.items():
        if text := _role_error(one):
            return f"Offer constraints for role '{role}' are invalid: {text}"
    return None


def _role_error(constraints: scheduler_pb2.OfferConstraints.RoleConstraints) -> str | None:
    if not constraints.groups:
        return "a role needs at least one group of constraints"
    for group in constraints.groups:
        if not group.attribute_constraints:
            return "a group needs at least one constraint"
        if text := next(filter(None, map(_error, group.attribute_constraints)), None):
            return text
    return None


def _error(constraint: _Constraint) -> str | None:
    selector = constraint.selector
    if selector.WhichOneof("selector") is None:
        return "'selector' needs 'attribute_name' or 'pseudoattribute_type'"
    if selector.HasField("pseudoattribute_type") and selector.pseudoattribute_type == _Constraint.Selector.UNKNOWN:
        return "'pseudoattribute_type' must be HOSTNAME, REGION or ZONE"
    predicate = constraint.predicate.WhichOneof("predicate")
    if predicate is None:
        return f"'predicate' needs one of {', '.join(_OBEYED)}"
    if predicate not in _OBEYED:
        return f"'{predicate}' is not supported by this master: use one of {', '.join(_OBEYED)}"
    return None
