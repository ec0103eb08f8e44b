"""A set of integers kept as merged inclusive ranges: ports."""

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator


class Ranges:
    """Immutable set of integers as merged, sorted, inclusive ranges; `len` counts values."""

    __slots__ = ("pairs",)

    pairs: tuple[tuple[int, int], ...]

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        """Of inclusive (begin, end) pairs in any order; overlapping and adjacent ones are merged."""
        self.pairs = _merged(pairs)

    def __or__(self, other: "Ranges") -> "Ranges":
        """Values in either."""
        return Ranges((*self.pairs, *other.pairs))

    def __and__(self, other: "Ranges") -> "Ranges":
        """Values in both."""
        return _of(_common(self.pairs, other.pairs))

    def __sub__(self, other: "Ranges") -> "Ranges":
        """Values of self that are not in `other`."""
        return _of(_without(self.pairs, other.pairs)) if other.pairs else self

    def __contains__(self, value: object) -> bool:
        """Whether an integer is in it, or all of another Ranges."""
        if isinstance(value, Ranges):
            return all(self._covers(begin, end) for begin, end in value.pairs)
        return isinstance(value, int) and self._covers(value, value)

    def _covers(self, begin: int, end: int) -> bool:
        index = bisect_right(self.pairs, begin, key=_begin) - 1
        return index >= 0 and end <= self.pairs[index][1]

    def __len__(self) -> int:
        """Number of values; as many as `len` can say if there are more."""
        return min(sum(end - begin + 1 for begin, end in self.pairs), sys.maxsize)

    def __bool__(self) -> bool:
        """Whether there is a value."""
        return bool(self.pairs)

    def __iter__(self) -> Iterator[int]:
        """The values in ascending order."""
        for begin, end in self.pairs:
            yield from range(begin, end + 1)

    def __eq__(self, other: object) -> bool:
        """The same values."""
        return isinstance(other, Ranges) and self.pairs == other.pairs

    def __hash__(self) -> int:
        """Consistent with ==."""
        return hash(self.pairs)

    def __str__(self) -> str:
        """`[1-3, 5-5]` as Mesos writes it."""
        return "[" + ", ".join(f"{begin}-{end}" for begin, end in self.pairs) + "]"

    def __repr__(self) -> str:
        """For people."""
        return f"Ranges({self})"


def _begin(pair: tuple[int, int]) -> int:
    return pair[0]


def _of(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Of pairs that are sorted and merged already."""
    ranges = Ranges.__new__(Ranges)
    ranges.pairs = tuple(pairs)
    return ranges


def _merged(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(pairs):
        if begin > end:
            continue
        if merged and begin <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)


def _common(ours: tuple[tuple[int, int], ...], theirs: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
    i = j = 0
    while i < len(ours) and j < len(theirs):
        begin, end = max(ours[i][0], theirs[j][0]), min(ours[i][1], theirs[j][1])
        if begin <= end:
            yield begin, end
        if ours[i][1] < theirs[j][1]:
            i += 1
        else:
            j += 1


def _without(ours: tuple[tuple[int, int], ...], theirs: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
    j = 0
    for begin, end in ours:
        while j < len(theirs) and theirs[j][1] < begin:
            j += 1
        k = j
        while begin <= end and k < len(theirs) and theirs[k][0] <= end:
            if begin < theirs[k][0]:
                yield begin, theirs[k][0] - 1
            begin = theirs[k][1] + 1
            k += 1
        if begin <= end:
            yield begin, end
