"""An immutable bag of resources."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from tfmesos.resources._entry import (
    SCALAR,
    Amount,
    Entry,
    Key,
    added,
    amount_text,
    common,
    covers,
    entry_text,
    subtracted,
)
from tfmesos.resources._formats import entry_of, message_of, thousandths
from tfmesos.resources._ranges import Ranges
from tfmesos.resources._text import parse_entries
from tfmesos.resources.errors import ResourcesError
from tfmesos.wire import mesos_pb2

_NOTHING = Ranges()
_ALWAYS_SHOWN = ("cpus", "gpus", "mem", "disk")


class Resources:
    """Amounts by what they are (see Key); immutable, never negative."""

    __slots__ = ("_amounts",)

    _amounts: dict[Key, Amount]

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        """Of entries; equal keys add up, empty amounts vanish."""
        amounts: dict[Key, Amount] = {}
        for key, amount in entries:
            if amount:
                amounts[key] = added(amounts[key], amount) if key in amounts else amount
        self._amounts = amounts

    @staticmethod
    def parse(text: str, default_role: str = "*") -> "Resources":
        """Of `cpus:1;mem(role):128;ports:[1-5]` or a JSON array of Resource objects; raises ResourcesError."""
        return Resources(parse_entries(text, default_role))

    @staticmethod
    def from_proto(messages: Iterable[mesos_pb2.Resource]) -> "Resources":
        """Of messages in pre- or post-refinement format; raises ResourcesError (`Resource '…' is invalid: …`)."""
        return Resources(map(entry_of, messages))

    @staticmethod
    def total(bags: Iterable["Resources"]) -> "Resources":
        """The sum of many, in one pass."""
        amounts: dict[Key, Amount] = {}
        for bag in bags:
            for key, amount in bag._amounts.items():
                ours = amounts.get(key)
                amounts[key] = amount if ours is None else added(ours, amount)
        return _of(amounts)

    def to_proto(
        self, format: Literal["post", "pre", "endpoint"] = "post", role: str | None = None
    ) -> list[mesos_pb2.Resource]:
        """Messages in one of the formats of wire-protobuf A.3; `role` becomes the allocation_info of each.

        Raises ResourcesError for a refined reservation in `pre`.
        """
        return [message_of(entry, format, role) for entry in self]

    def __iter__(self) -> Iterator[Entry]:
        """The entries in the order they came."""
        return (Entry(key, amount) for key, amount in self._amounts.items())

    def __len__(self) -> int:
        """Number of entries."""
        return len(self._amounts)

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self._amounts)

    def __eq__(self, other: object) -> bool:
        """The same entries in any order."""
        return isinstance(other, Resources) and self._amounts == other._amounts

    def __hash__(self) -> int:
        """Consistent with ==."""
        return hash(frozenset(self._amounts.items()))

    def __add__(self, other: "Resources") -> "Resources":
        """All of both."""
        if not self._amounts:
            return other
        amounts = self._amounts.copy()
        for key, amount in other._amounts.items():
            ours = amounts.get(key)
            amounts[key] = amount if ours is None else added(ours, amount)
        return _of(amounts)

    def __sub__(self, other: "Resources") -> "Resources":
        """What is left without `other`, all of which must be here (ResourcesError otherwise)."""
        amounts = self._amounts.copy()
        for key, amount in other._amounts.items():
            ours = amounts.get(key)
            if ours is None or not covers(ours, amount):
                raise ResourcesError(f"{self} does not contain {other}")
            left = subtracted(ours, amount)
            if left:
                amounts[key] = left
            else:
                del amounts[key]
        return _of(amounts)

    def contains(self, other: "Resources") -> bool:
        """Whether all of `other` is here, entry by entry: same reservations, allocation, disk, revocability."""
        ours = self._amounts
        return all(key in ours and covers(ours[key], amount) for key, amount in other._amounts.items())

    def scalar(self, name: str) -> int:
        """Thousandths of a scalar over all its entries."""
        return sum(amount for key, amount in self._amounts.items() if key.name == name and isinstance(amount, int))

    def ranges(self, name: str) -> Ranges:
        """The values of a ranges resource over all its entries."""
        found = _NOTHING
        for key, amount in self._amounts.items():
            if key.name == name and isinstance(amount, Ranges):
                found = found | amount if found else amount
        return found

    def names(self) -> set[str]:
        """The names of what is here."""
        return {key.name for key in self._amounts}

    def unreserved(self) -> "Resources":
        """What is reserved to nobody."""
        return self._where(lambda key: not key.reservations)

    def reserved_to(self, role: str) -> "Resources":
        """What is reserved to exactly this role (the innermost reservation counts)."""
        return self._where(lambda key: bool(key.reservations) and key.reservations[-1].role == role)

    def allocatable_to(self, role: str) -> "Resources":
        """What may be offered to a role: unreserved, or reserved to it or to one of its ancestors."""
        return self._where(
            lambda key: (
                not key.reservations
                or key.reservations[-1].role == role
                or role.startswith(key.reservations[-1].role + "/")
            )
        )

    def nonrevocable(self) -> "Resources":
        """Without what may be taken back at any time."""
        return self._where(lambda key: not key.revocable)

    def strip_reservations(self) -> "Resources":
        """The same amounts, all unreserved."""
        return self._with_keys(lambda key: key._replace(reservations=()) if key.reservations else key)

    def allocated(self, role: str) -> "Resources":
        """The same with allocation_info of this role."""
        return self._with_keys(lambda key: key._replace(allocated=role))

    def unallocated(self) -> "Resources":
        """The same without allocation_info."""
        return self._with_keys(lambda key: key._replace(allocated=None))

    def find(self, wanted: "Resources", role: str) -> "Resources | None":
        """What of self to use for a plain wish of `role`, or None if it does not suffice.

        Reserved to the role first, then to its ancestors (nearest first), then unreserved. Disks with a source or a
        volume and revocable ones are never taken.
        """
        usable = sorted(
            (key for key in self._amounts if _is_plain(key) and _rank(key, role) is not None),
            key=lambda key: _rank(key, role) or 0,
        )
        found: dict[Key, Amount] = {}
        for wish, amount in wanted._amounts.items():
            left = self._take(wish, amount, usable, found)
            if left:
                return None
        return _of(found)

    def _take(self, wish: Key, left: Amount, usable: Iterable[Key], found: dict[Key, Amount]) -> Amount:
        """Moves what satisfies a wish into `found`; returns what is still missing."""
        for key in usable:
            if not left:
                break
            if key.name != wish.name or key.kind != wish.kind:
                continue
            available = subtracted(self._amounts[key], found[key]) if key in found else self._amounts[key]
            part = common(available, left)
            if part:
                found[key] = added(found[key], part) if key in found else part
                left = subtracted(left, part)
        return left

    def summary(self) -> dict[str, float | str]:
        """As /state shows resources: sums by name; cpus, gpus, mem, disk always; ranges and sets as texts."""
        sums: dict[str, Amount] = dict.fromkeys(_ALWAYS_SHOWN, 0)
        for key, amount in self._amounts.items():
            name = f"{key.name}_revocable" if key.revocable else key.name
            ours = sums.get(name)
            sums[name] = added(ours, amount) if ours is not None and type(ours) is type(amount) else amount
        return {
            name: amount / 1000 if isinstance(amount, int) else amount_text(amount) for name, amount in sums.items()
        }

    def __str__(self) -> str:
        """`cpus:1; mem:128; ports:[31000-32000]` (Mesos 1.11: operator<< of Resources)."""
        return "; ".join(map(entry_text, self))

    def __repr__(self) -> str:
        """For people."""
        return f"Resources({self})"

    def _where(self, accept: Callable[[Key], bool]) -> "Resources":
        return _of({key: amount for key, amount in self._amounts.items() if accept(key)})

    def _with_keys(self, change: Callable[[Key], Key]) -> "Resources":
        return Resources(Entry(change(key), amount) for key, amount in self._amounts.items())


def scalars(*, cpus: float = 0, mem: float = 0, gpus: float = 0, disk: float = 0) -> Resources:
    """Unreserved scalars; each is rounded to thousandths as Mesos rounds."""
    given = (("cpus", cpus), ("mem", mem), ("gpus", gpus), ("disk", disk))
    return Resources(Entry(Key(name, SCALAR), thousandths(amount)) for name, amount in given)


def _of(amounts: dict[Key, Amount]) -> Resources:
    resources = Resources.__new__(Resources)
    resources._amounts = amounts
    return resources


def _is_plain(key: Key) -> bool:
    return not key.revocable and not key.disk and not key.shared


def _rank(key: Key, role: str) -> int | None:
    """How early to use a key for a role: 0 its own reservation, then ancestors from near to far, then unreserved."""
    if not key.reservations:
        return role.count("/") + 1
    holder = key.reservations[-1].role
    if holder != role and not role.startswith(holder + "/"):
        return None
    return role.count("/") - holder.count("/")
