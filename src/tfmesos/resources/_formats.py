"""Resource messages: both formats in, any of three out, and Mesos' validation texts (spec: wire-protobuf A.3)."""

import itertools
import math
from collections.abc import Callable, Iterable

from tfmesos.resources._entry import (
    DYNAMIC,
    RANGES,
    SCALAR,
    SET,
    STATIC,
    Amount,
    Entry,
    Key,
    Reservation,
    key_text,
    thousandths_text,
)
from tfmesos.resources._ranges import Ranges
from tfmesos.resources.errors import ResourcesError
from tfmesos.wire import mesos_pb2

_FIXED_POINT_END = 2.0**63
_NOISE = 1e-6
"""What adding binary fractions may leave; 0.9995, which Mesos' fixed point would round up to a card, is more."""


def validate(resource: mesos_pb2.Resource) -> str | None:
    """Why Mesos calls this resource malformed (without `Resource '…' is invalid: ` in front); None if it is fine."""
    if not resource.name:
        return "Empty resource name"
    error = _VALIDATE_VALUE.get(resource.type, _validate_text)(resource)
    return error or _validate_disk(resource) or _validate_reservations(resource)


def validate_gpus(resources: Iterable[mesos_pb2.Resource]) -> str | None:
    """Why their sum is no whole number of cards; None if it is, or there are none (Mesos 1.11: validateGpus)."""
    amounts = [resource.scalar.value for resource in resources if resource.name == "gpus" and resource.type == SCALAR]
    total = math.fsum(amounts)
    is_whole = abs(total - round(total)) < _NOISE and sum(map(thousandths, amounts)) % 1000 == 0
    return None if is_whole else "The 'gpus' resource must be an unsigned integer"


def entry_of(resource: mesos_pb2.Resource) -> Entry:
    """The entry of a message in pre- or post-refinement format; raises ResourcesError with Mesos' text."""
    error = validate(resource)
    if error is not None:
        raise ResourcesError(f"Resource '{resource_text(resource)}' is invalid: {error}")
    return Entry(_key_of(resource), _amount_of(resource))


def message_of(entry: Entry, format: str, role: str | None) -> mesos_pb2.Resource:
    """The message of an entry; `pre` cannot say more than one reservation and raises ResourcesError."""
    key, amount = entry
    resource = mesos_pb2.Resource(name=key.name, type=key.kind)  # type: ignore[arg-type]
    if key.provider:
        resource.provider_id.value = key.provider
    _set_amount(resource, amount)
    if format != "pre":
        _set_reservations(resource, key.reservations)
    if format != "post":
        _set_role(resource, key.reservations, required=format == "pre")
    allocated = role if role is not None else key.allocated
    if allocated is not None:
        resource.allocation_info.role = allocated
    if key.disk:
        resource.disk.ParseFromString(key.disk)
    if key.revocable:
        resource.revocable.SetInParent()
    if key.shared:
        resource.shared.SetInParent()
    return resource


def thousandths(value: float) -> int:
    """Mesos' fixed point: rounded to three decimals, halves away from zero."""
    return int(math.copysign(math.floor(abs(value) * 1000 + 0.5), value))


def is_representable(value: float) -> bool:
    """Whether Mesos' fixed point can say it (Mesos 1.11: thousandths in an int64; NaN and infinities cannot be)."""
    return abs(value) * 1000 < _FIXED_POINT_END


def resource_text(resource: mesos_pb2.Resource) -> str:
    """A message as Mesos prints it, malformed or not: `cpus:-1`, `ports:[5-1]`."""
    return f"{key_text(_key_of(resource))}:{_value_text(resource)}"


def _value_text(resource: mesos_pb2.Resource) -> str:
    if resource.type == SCALAR:
        value = resource.scalar.value
        return thousandths_text(thousandths(value)) if is_representable(value) else str(value)
    if resource.type == RANGES:
        return "[" + ", ".join(f"{pair.begin}-{pair.end}" for pair in resource.ranges.range) + "]"
    return "{" + ", ".join(sorted(resource.set.item)) + "}" if resource.type == SET else ""


def _key_of(resource: mesos_pb2.Resource) -> Key:
    return Key(
        resource.name,
        int(resource.type),
        _reservations_of(resource),
        resource.allocation_info.role if resource.HasField("allocation_info") else None,
        resource.disk.SerializeToString(deterministic=True) if resource.HasField("disk") else b"",
        resource.HasField("revocable"),
        resource.HasField("shared"),
        resource.provider_id.value,
    )


def _reservations_of(resource: mesos_pb2.Resource) -> tuple[Reservation, ...]:
    """The stack; the old format's role and reservation become a stack of one (wire-protobuf A.3, upgrade)."""
    if resource.reservations:
        return tuple(_reservation_of(info, info.role, int(info.type)) for info in resource.reservations)
    if resource.role == "*":
        return ()
    if resource.HasField("reservation"):
        return (_reservation_of(resource.reservation, resource.role, DYNAMIC),)
    return (Reservation(STATIC, resource.role),)


def _reservation_of(info: mesos_pb2.Resource.ReservationInfo, role: str, type: int) -> Reservation:
    return Reservation(
        type,
        role,
        info.principal if info.HasField("principal") else None,
        info.labels.SerializeToString(deterministic=True) if info.HasField("labels") else b"",
    )


def _amount_of(resource: mesos_pb2.Resource) -> Amount:
    if resource.type == SCALAR:
        return thousandths(resource.scalar.value)
    if resource.type == RANGES:
        return Ranges((pair.begin, pair.end) for pair in resource.ranges.range)
    return frozenset(resource.set.item)


def _set_amount(resource: mesos_pb2.Resource, amount: Amount) -> None:
    if isinstance(amount, int):
        resource.scalar.value = amount / 1000
    elif isinstance(amount, Ranges):
        resource.ranges.SetInParent()
        for begin, end in amount.pairs:
            resource.ranges.range.add(begin=begin, end=end)
    else:
        resource.set.item.extend(sorted(amount))


def _set_reservations(resource: mesos_pb2.Resource, reservations: Iterable[Reservation]) -> None:
    for reservation in reservations:
        info = resource.reservations.add(type=reservation.type, role=reservation.role)
        _set_principal_and_labels(info, reservation)


def _set_role(resource: mesos_pb2.Resource, reservations: tuple[Reservation, ...], *, required: bool) -> None:
    """The old format's fields, where it can say them."""
    if len(reservations) > 1:
        if required:
            raise ResourcesError(f"Resource '{resource.name}' has a refined reservation; the old format cannot say it")
        return
    resource.role = reservations[0].role if reservations else "*"
    if reservations and reservations[0].type == DYNAMIC:
        resource.reservation.SetInParent()
        _set_principal_and_labels(resource.reservation, reservations[0])


def _set_principal_and_labels(info: mesos_pb2.Resource.ReservationInfo, reservation: Reservation) -> None:
    if reservation.principal is not None:
        info.principal = reservation.principal
    if reservation.labels:
        info.labels.ParseFromString(reservation.labels)


def _validate_scalar(resource: mesos_pb2.Resource) -> str | None:
    if not resource.HasField("scalar") or resource.HasField("ranges") or resource.HasField("set"):
        return "Invalid scalar resource"
    value = resource.scalar.value
    if not math.isfinite(value):
        return "Invalid scalar resource: value is not finite"
    if not is_representable(value):
        return "Invalid scalar resource: value is too large"
    is_nothing = value != 0 and thousandths(value) <= 0  # Mesos 1.11: zero itself is fine
    return "Invalid scalar resource: value <= 0" if is_nothing else None


def _validate_ranges(resource: mesos_pb2.Resource) -> str | None:
    if not resource.HasField("ranges") or resource.HasField("scalar") or resource.HasField("set"):
        return "Invalid ranges resource"
    pairs = sorted((pair.begin, pair.end) for pair in resource.ranges.range)
    if any(begin > end for begin, end in pairs):
        return "Invalid ranges resource: begin > end"
    if any(after[0] <= before[1] for before, after in itertools.pairwise(pairs)):
        return "Invalid ranges resource: overlapping ranges"
    return None


def _validate_set(resource: mesos_pb2.Resource) -> str | None:
    if not resource.HasField("set") or resource.HasField("scalar") or resource.HasField("ranges"):
        return "Invalid set resource"
    items = resource.set.item
    return "Invalid set resource: duplicated elements" if len(set(items)) < len(items) else None


def _validate_text(resource: mesos_pb2.Resource) -> str | None:
    return "Unsupported resource type"


_VALIDATE_VALUE: dict[int, Callable[[mesos_pb2.Resource], str | None]] = {
    SCALAR: _validate_scalar,
    RANGES: _validate_ranges,
    SET: _validate_set,
}


def _validate_disk(resource: mesos_pb2.Resource) -> str | None:
    if resource.HasField("disk") and resource.name != "disk":
        return f"DiskInfo should not be set for {resource.name} resource"
    if resource.HasField("shared"):
        if resource.name != "disk":
            return f"Resource {resource.name} cannot be shared"
        if not resource.disk.HasField("persistence"):
            return "Only persistent volumes can be shared"
    return None


def _validate_reservations(resource: mesos_pb2.Resource) -> str | None:
    if not resource.reservations:
        if resource.role == "*" and resource.HasField("reservation"):
            return 'Invalid reservation: role "*" cannot be dynamically reserved'
        return None
    for info in resource.reservations:
        if not info.HasField("type"):
            return "Invalid reservation: 'Resource.ReservationInfo.type' field must be set."
        if not info.HasField("role"):
            return "Invalid reservation: 'Resource.ReservationInfo.role' field must be set."
        if info.role == "*":
            return 'Invalid reservation: role "*" cannot be reserved'
    return _validate_refinements([info.role for info in resource.reservations])


def _validate_refinements(roles: list[str]) -> str | None:
    for outer, inner in itertools.pairwise(roles):
        if not inner.startswith(outer + "/"):
            return f"Invalid refined reservation: role '{inner}' is not a refinement of '{outer}'"
    return None
