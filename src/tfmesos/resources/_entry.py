"""One entry of a bag of resources: what it is (its key) and how much of it (its amount)."""

from typing import NamedTuple

from tfmesos.resources._ranges import Ranges
from tfmesos.wire import mesos_pb2

SCALAR = int(mesos_pb2.Value.SCALAR)
RANGES = int(mesos_pb2.Value.RANGES)
SET = int(mesos_pb2.Value.SET)
STATIC = int(mesos_pb2.Resource.ReservationInfo.STATIC)
DYNAMIC = int(mesos_pb2.Resource.ReservationInfo.DYNAMIC)

Amount = int | Ranges | frozenset[str]


class Reservation(NamedTuple):
    """One layer of a reservation stack."""

    type: int
    role: str
    principal: str | None = None
    labels: bytes = b""


class Key(NamedTuple):
    """What makes two amounts addable: equal keys. `disk` is the serialized DiskInfo, `labels` serialized Labels."""

    name: str
    kind: int
    reservations: tuple[Reservation, ...] = ()
    allocated: str | None = None
    disk: bytes = b""
    revocable: bool = False
    shared: bool = False
    provider: str = ""


_PLAIN = Key("", 0)[2:]


class Entry(NamedTuple):
    """A key and its amount: int thousandths, Ranges or a set of texts."""

    key: Key
    amount: Amount


def added(ours: Amount, theirs: Amount) -> Amount:
    """The sum of two amounts of one kind."""
    if isinstance(ours, int) and isinstance(theirs, int):
        return ours + theirs
    if isinstance(ours, Ranges) and isinstance(theirs, Ranges):
        return ours | theirs
    assert isinstance(ours, frozenset)
    assert isinstance(theirs, frozenset)
    return ours | theirs


def subtracted(ours: Amount, theirs: Amount) -> Amount:
    """What is left of `ours` without `theirs`."""
    if isinstance(ours, int) and isinstance(theirs, int):
        return ours - theirs
    if isinstance(ours, Ranges) and isinstance(theirs, Ranges):
        return ours - theirs
    assert isinstance(ours, frozenset)
    assert isinstance(theirs, frozenset)
    return ours - theirs


def covers(ours: Amount, theirs: Amount) -> bool:
    """Whether `theirs` is a part of `ours`."""
    if isinstance(ours, int) and isinstance(theirs, int):
        return theirs <= ours
    if isinstance(ours, Ranges) and isinstance(theirs, Ranges):
        return theirs in ours
    assert isinstance(ours, frozenset)
    assert isinstance(theirs, frozenset)
    return theirs <= ours


def common(ours: Amount, theirs: Amount) -> Amount:
    """The largest part of `theirs` that `ours` has."""
    if isinstance(ours, int) and isinstance(theirs, int):
        return min(ours, theirs)
    if isinstance(ours, Ranges) and isinstance(theirs, Ranges):
        return ours & theirs
    assert isinstance(ours, frozenset)
    assert isinstance(theirs, frozenset)
    return ours & theirs


def amount_text(amount: Amount) -> str:
    """`0.5`, `[1-3, 5-5]`, `{a, b}`."""
    if isinstance(amount, int):
        return thousandths_text(amount)
    if isinstance(amount, Ranges):
        return str(amount)
    return "{" + ", ".join(sorted(amount)) + "}"


def thousandths_text(amount: int) -> str:
    """A decimal with at most three places: 1500 is `1.5`, 128000 `128`."""
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    whole, rest = divmod(amount, 1000)
    return f"{sign}{whole}" + (f".{rest:03d}".rstrip("0") if rest else "")


def entry_text(entry: Entry) -> str:
    """`cpus(allocated: *)(reservations: [(STATIC,a)]):0.5` (Mesos 1.11: operator<< of Resource)."""
    return f"{key_text(entry.key)}:{amount_text(entry.amount)}"


def key_text(key: Key) -> str:
    """What `entry_text` says before the amount."""
    if key[2:] == _PLAIN:
        return key.name
    return (
        key.name
        + (f"(allocated: {key.allocated})" if key.allocated is not None else "")
        + (_reservations_text(key.reservations) if key.reservations else "")
        + (_disk_text(key.disk) if key.disk else "")
        + ("{REV}" if key.revocable else "")
        + ("<SHARED>" if key.shared else "")
    )


def _reservations_text(reservations: tuple[Reservation, ...]) -> str:
    return "(reservations: [" + ",".join(_reservation_text(reservation) for reservation in reservations) + "])"


def _reservation_text(reservation: Reservation) -> str:
    parts = [mesos_pb2.Resource.ReservationInfo.Type.Name(reservation.type), reservation.role]  # type: ignore[arg-type]
    if reservation.principal is not None:
        parts.append(reservation.principal)
    if reservation.labels:
        labels = mesos_pb2.Labels.FromString(reservation.labels).labels
        parts.append("{" + ", ".join(f"{label.key}: {label.value}" for label in labels) + "}")
    return "(" + ",".join(parts) + ")"


def _disk_text(serialized: bytes) -> str:
    disk = mesos_pb2.Resource.DiskInfo.FromString(serialized)
    parts = []
    if disk.HasField("source"):
        parts.append(_source_text(disk.source))
    if disk.HasField("persistence"):
        parts.append(disk.persistence.id)
    text = ",".join(parts)
    if disk.HasField("volume"):
        volume = disk.volume
        host = f"{volume.host_path}:" if volume.HasField("host_path") else ""
        mode = mesos_pb2.Volume.Mode.Name(volume.mode).lower()
        text += f":{host}{volume.container_path}" + (f":{mode}" if host else "")
    return f"[{text}]"


def _source_text(source: mesos_pb2.Resource.DiskInfo.Source) -> str:
    root = source.path.root or source.mount.root
    return mesos_pb2.Resource.DiskInfo.Source.Type.Name(source.type) + (f":{root}" if root else "")
