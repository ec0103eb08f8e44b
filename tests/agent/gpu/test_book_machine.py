"""The book in any order of events. After each of them:

* each unit is free or in the hands of one outermost container, none is lost
* what nested containers have is of what is around them, and of no sibling
* a container has as many as its shares say
* who gets cards gets the lowest that are free
* after the end of all containers all are free
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.agent.gpu.units import unit
from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.gpu.allocator import Allocator
from tfmesos.agent.gpu.book import Book, Holding
from tfmesos.agent.gpu.errors import StillClaimed, TooFewGpus

UNITS = [unit(0, (7, 0)), unit(0, (7, 1)), *(unit(minor) for minor in range(1, 5))]
ROOTS = [ContainerId(name) for name in ("x", "y")]
NESTED = [ContainerId(name, root) for root in ROOTS for name in "abc"]
INNER = [ContainerId("i", nested) for nested in NESTED[:2]]
WANTS = st.dictionaries(st.sampled_from(["", "one", "two", "three"]), st.integers(0, 3))


class BookMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.book = Book(Allocator(UNITS))
        self.wants: dict[ContainerId, dict[str, int]] = {}

    @rule(root=st.sampled_from(ROOTS), wants=WANTS)
    def admit(self, root: ContainerId, wants: dict[str, int]) -> None:
        if root in self.book:
            return
        free = sorted(self.book.allocator.free)
        try:
            self.book.admit(root, wants)
        except TooFewGpus:
            assert sum(wants.values()) > len(free)
            return
        self.wants[root] = wants
        assert sorted(self.book.units_for(root)) == free[: sum(wants.values())]

    @rule(nested=st.sampled_from([*NESTED, *INNER]), count=st.integers(0, 3))
    def claim(self, nested: ContainerId, count: int) -> None:
        outer = self.book.outer(nested)
        if (
            nested in self.book
            or outer is None
            or any(nested == inner.parent and inner in self.book for inner in INNER)
        ):
            return  # what is around a container was there first
        left = self.book.units_for(outer) - self.book.claimed(outer)
        try:
            self.book.admit(nested, {"": count})
        except TooFewGpus:
            assert count > len(left)
            return
        self.wants[nested] = {"": count}

    @rule(root=st.sampled_from(ROOTS), wants=WANTS)
    def resize(self, root: ContainerId, wants: dict[str, int]) -> None:
        if root not in self.book:
            return
        before, free, claimed = self.book.holding(root), sorted(self.book.allocator.free), self.book.claimed(root)
        try:
            self.book.resize(root, wants)
        except (TooFewGpus, StillClaimed):
            assert self.book.holding(root) == before
            return
        self.wants[root] = wants
        after = self.book.holding(root)
        back = before.leaving & after.units
        new = sorted(after.units - before.units - back)
        assert new == (free if back else free[: len(new)])
        assert not after.leaving & claimed
        for name, count in wants.items():
            if not claimed and count >= len(before.shares.get(name, ())):
                assert before.shares.get(name, frozenset()) <= after.shares.get(name, frozenset())

    @rule(root=st.sampled_from(ROOTS))
    def settle(self, root: ContainerId) -> None:
        if root in self.book:
            self.book.settle(root)

    @rule(container=st.sampled_from([*ROOTS, *NESTED, *INNER]))
    def dismiss(self, container: ContainerId) -> None:
        self.book.dismiss(container)
        self._forget()

    @precondition(lambda self: self.wants)
    @rule()
    def restart(self) -> None:
        """The next agent reads what this one wrote."""
        kept = {container: self.book.holding(container) for container in self.wants}
        self.book = Book(Allocator(UNITS))
        for container in sorted(kept, key=lambda container: len(list(container.lineage()))):
            self.book.restore(container, kept[container])
        assert {container: self.book.holding(container).shares for container in kept} == {
            container: holding.shares for container, holding in kept.items()
        }

    def _forget(self) -> None:
        self.wants = {container: wants for container, wants in self.wants.items() if container in self.book}

    @invariant()
    def each_unit_is_in_one_hand(self) -> None:
        held = [unit for root in ROOTS for unit in (*self._held(root).units, *self._held(root).leaving)]
        assert len(held) == len(set(held))
        assert set(held) == self.book.allocator.allocated
        assert self.book.allocator.free | self.book.allocator.allocated == set(UNITS)

    @invariant()
    def nested_have_of_what_is_around(self) -> None:
        for outer in (*ROOTS, *NESTED):
            claims = [
                unit
                for inner in (*NESTED, *INNER)
                if inner in self.book and self.book.outer(inner) == outer
                for unit in self.book.units_for(inner)
            ]
            assert len(claims) == len(set(claims))
            assert set(claims) <= self._held(outer).units

    @invariant()
    def all_have_what_they_want(self) -> None:
        for container, wants in self.wants.items():
            told = {name: count for name, count in wants.items() if count}
            assert {name: len(units) for name, units in self._held(container).shares.items()} == told

    def _held(self, container: ContainerId) -> Holding:
        return self.book.holding(container)

    def teardown(self) -> None:
        for root in ROOTS:
            self.book.dismiss(root)
        assert self.book.allocator.free == set(UNITS)


TestBook = BookMachine.TestCase
TestBook.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
