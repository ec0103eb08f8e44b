"""Which units are free: NvidiaGpuTest.Allocator of Mesos 1.11, and any order of calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.gpu.units import unit
from tfmesos.agent.gpu.allocator import Allocator
from tfmesos.agent.gpu.cards import Unit
from tfmesos.agent.gpu.errors import GpuError, NotAllocated, NotAvailable, TooFewGpus

UNITS = [unit(minor) for minor in (2, 0, 1, 3)]


def test_all_can_be_taken_and_then_no_more() -> None:
    allocator = Allocator(UNITS)

    assert allocator.allocate(4) == allocator.total == frozenset(UNITS)
    with pytest.raises(TooFewGpus, match=r"^Requested 1 gpus but only 0 available$"):
        allocator.allocate(1)
    assert allocator.allocate(0) == frozenset()


def test_the_lowest_are_taken_and_what_was_given_back_comes_again() -> None:
    allocator = Allocator(UNITS)

    assert allocator.allocate(2) == {unit(0), unit(1)}
    allocator.deallocate({unit(0)})
    assert allocator.allocate(1) == {unit(0)}


def test_instances_of_a_card_come_in_their_order() -> None:
    parts = [unit(1, (7, 0)), unit(0, (9, 1)), unit(0, (9, 0)), unit(0, (10, 0))]

    assert [str(part) for part in sorted(parts)] == ["195.0/9/0", "195.0/9/1", "195.0/10/0", "195.1/7/0"]


def test_giving_back_twice_and_taking_what_is_taken_or_unknown_change_nothing() -> None:
    allocator = Allocator(UNITS)
    allocator.allocate(2)

    with pytest.raises(NotAvailable, match=r"^\{195.1\} are not available$"):
        allocator.allocate_exactly({unit(1), unit(2)})
    with pytest.raises(NotAvailable, match=r"195\.99"):
        allocator.allocate_exactly({unit(99), unit(2)})
    with pytest.raises(NotAllocated, match=r"^\{195.2, 195.99\} are not allocated$"):
        allocator.deallocate({unit(0), unit(2), unit(99)})
    assert allocator.allocated == {unit(0), unit(1)}


SETS = st.frozensets(st.sampled_from([*UNITS, unit(99)]))
CALLS = st.one_of(st.integers(0, 5), st.tuples(st.sampled_from(["take", "give"]), SETS))


@given(st.lists(CALLS))
def test_in_any_order_each_unit_is_free_or_allocated_and_a_refusal_changes_nothing(
    calls: list[int | tuple[str, frozenset[Unit]]],
) -> None:
    allocator, held = Allocator(UNITS), frozenset[Unit]()
    for call in calls:
        try:
            match call:
                case int(count):
                    lowest = frozenset(sorted(allocator.free)[:count])
                    assert allocator.allocate(count) == lowest
                    held |= lowest
                case ("take", units):
                    allocator.allocate_exactly(units)
                    assert not units & held
                    held |= units
                case (_, units):
                    allocator.deallocate(units)
                    assert units <= held
                    held -= units
        except GpuError:
            pass
        assert allocator.allocated == held
        assert allocator.free | held == allocator.total
        assert not allocator.free & held
