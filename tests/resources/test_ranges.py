"""Ranges behave like sets of integers."""

import sys

from hypothesis import given
from hypothesis import strategies as st

from tfmesos.resources import Ranges

pairs = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)).map(lambda pair: (pair[0], pair[0] + pair[1])))
ranges = pairs.map(Ranges)


@given(pairs)
def test_they_are_merged_and_sorted_however_they_come(given_pairs: list[tuple[int, int]]) -> None:
    values = {value for begin, end in given_pairs for value in range(begin, end + 1)}
    merged = Ranges(given_pairs)

    assert set(merged) == values
    assert len(merged) == len(values)
    assert bool(merged) == bool(values)
    assert all(after > before + 1 for (_, before), (after, _) in zip(merged.pairs, merged.pairs[1:], strict=False))


@given(ranges, ranges)
def test_operators_are_those_of_sets(ours: Ranges, theirs: Ranges) -> None:
    assert set(ours | theirs) == set(ours) | set(theirs)
    assert set(ours & theirs) == set(ours) & set(theirs)
    assert set(ours - theirs) == set(ours) - set(theirs)
    assert (theirs in ours) == (set(theirs) <= set(ours))
    assert (ours == theirs) == (set(ours) == set(theirs))
    assert ours != theirs or hash(ours) == hash(theirs)


@given(ranges, st.integers(0, 50))
def test_a_value_is_in_them_or_not(ours: Ranges, value: int) -> None:
    assert (value in ours) == (value in set(ours))


def test_they_print_as_mesos_prints_them() -> None:
    assert str(Ranges([(5, 5), (1, 2), (3, 3)])) == "[1-3, 5-5]"
    assert str(Ranges()) == "[]"
    assert "1" not in Ranges([(1, 1)])


def test_more_values_than_len_can_say_are_no_error() -> None:
    assert len(Ranges([(0, (1 << 64) - 1)])) == sys.maxsize
