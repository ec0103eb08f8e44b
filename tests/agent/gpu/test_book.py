"""Who holds which units."""

from __future__ import annotations

import pytest

from tests.agent.gpu.units import unit
from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.gpu.allocator import Allocator
from tfmesos.agent.gpu.book import Book, Holding
from tfmesos.agent.gpu.errors import NotAvailable, StillClaimed, TooFewGpus

ROOT = ContainerId("root")
A, B, C = (ContainerId(name, ROOT) for name in "abc")
FOUR = [unit(minor) for minor in range(4)]


@pytest.fixture
def book() -> Book:
    return Book(Allocator(FOUR))


def minors(book: Book, container_id: ContainerId) -> list[int]:
    return sorted(unit.minor for unit in book.units_for(container_id))


def test_growing_adds_to_what_is_held_and_the_end_frees_all(book: Book) -> None:
    book.admit(ROOT, {"one": 1})
    book.resize(ROOT, {"one": 1, "two": 1})
    book.resize(ROOT, {"one": 1, "two": 1, "three": 1})

    assert book.holding(ROOT).shares == {"one": {unit(0)}, "two": {unit(1)}, "three": {unit(2)}}
    book.dismiss(ROOT)
    assert book.allocator.free == book.allocator.total


def test_what_is_taken_are_the_cards_of_the_task_that_ended_and_they_are_free_when_that_is_settled(book: Book) -> None:
    book.admit(ROOT, {"one": 1, "two": 2, "three": 1})

    book.resize(ROOT, {"one": 1, "three": 1})

    assert minors(book, ROOT) == [0, 3]
    assert book.holding(ROOT).leaving == {unit(1), unit(2)}
    assert not book.allocator.free
    book.settle(ROOT)
    assert book.allocator.free == {unit(1), unit(2)}


def test_a_share_that_shrinks_and_another_that_grows_in_one_step_have_no_card_in_common(book: Book) -> None:
    book.admit(ROOT, {"one": 2})

    book.resize(ROOT, {"one": 1, "two": 2})

    assert book.holding(ROOT).shares == {"one": {unit(1)}, "two": {unit(2), unit(3)}}
    assert book.holding(ROOT).leaving == {unit(0)}


def test_what_an_agent_before_has_not_settled_comes_back_where_no_others_are_free(book: Book) -> None:
    """That one knew of a task's end which this one is still to hear of."""
    leaving = frozenset({unit(0), unit(2)})
    book.restore(ROOT, Holding(shares={"one": frozenset({unit(1)})}, leaving=leaving))

    book.resize(ROOT, {"one": 1, "two": 2})

    assert book.holding(ROOT).shares == {"one": {unit(1)}, "two": {unit(0), unit(3)}}
    assert book.holding(ROOT).leaving == {unit(2)}
    book.resize(ROOT, {"one": 1})
    book.settle(ROOT)
    assert book.allocator.free == {unit(0), unit(2), unit(3)}


def test_what_cannot_be_given_changes_nothing(book: Book) -> None:
    book.admit(ROOT, {"one": 3})
    before = book.holding(ROOT)

    with pytest.raises(TooFewGpus, match="Requested 2 gpus but only 1 available"):
        book.resize(ROOT, {"two": 2})
    with pytest.raises(TooFewGpus):
        book.admit(ContainerId("other"), {"": 2})
    with pytest.raises(TooFewGpus):
        book.admit(A, {"": 4})

    assert book.holding(ROOT) == before
    assert A not in book
    assert book.allocator.free == {unit(3)}


def test_a_resize_that_nothing_came_of_is_taken_back(book: Book) -> None:
    book.admit(ROOT, {"one": 2})
    before = book.holding(ROOT)
    book.resize(ROOT, {"two": 1})

    book.revert(ROOT, before)

    assert book.holding(ROOT) == before
    assert book.allocator.free == {unit(2), unit(3)}


def test_nested_containers_have_each_their_own_of_what_is_around_them(book: Book) -> None:
    book.admit(ROOT, {"": 1, "one": 1, "two": 2})
    inner = ContainerId("inner", B)

    book.admit(A, {"": 2})
    book.admit(B, {"": 1})
    book.admit(inner, {"": 1})

    assert [minors(book, container) for container in (ROOT, A, B, inner)] == [[0, 1, 2, 3], [2, 3], [1], [1]]
    with pytest.raises(TooFewGpus):
        book.admit(ContainerId("second", B), {"": 1})
    book.admit(C, {"": 1})
    assert minors(book, C) == [0]


def test_a_container_that_is_not_in_the_book_shares_what_is_around_it(book: Book) -> None:
    book.admit(ROOT, {"one": 1})

    assert minors(book, ContainerId("session", A)) == [0]
    assert minors(book, ContainerId("unknown")) == []


def test_a_card_of_a_nested_container_is_taken_when_that_is_gone(book: Book) -> None:
    book.admit(ROOT, {"one": 1, "two": 1})
    book.admit(A, {"": 1})

    with pytest.raises(StillClaimed, match=r"195\.0"):
        book.resize(ROOT, {"two": 1})
    book.dismiss(A)
    book.resize(ROOT, {"two": 1})

    assert book.holding(ROOT).leaving == {unit(0)}


def test_a_task_whose_container_had_another_tasks_card_gives_that_back_and_the_other_goes_on(book: Book) -> None:
    book.admit(ROOT, {"one": 1, "two": 1})
    of_two, of_one = A, B  # the second task's container came first
    book.admit(of_two, {"": 1})
    book.admit(of_one, {"": 1})
    book.dismiss(of_two)

    book.resize(ROOT, {"one": 1})

    assert minors(book, of_one) == [1]
    assert book.holding(ROOT).shares == {"one": {unit(1)}}
    assert book.holding(ROOT).leaving == {unit(0)}


def test_a_card_that_a_task_uses_without_a_container_is_not_taken_for_that_of_another(book: Book) -> None:
    book.admit(ROOT, {"inside": 1, "two": 1})
    book.resize(ROOT, {"inside": 1, "two": 1, "zwei": 2})
    book.admit(A, {"": 2})

    with pytest.raises(StillClaimed):
        book.resize(ROOT, {"inside": 1, "two": 1})


def test_what_was_held_before_is_held_again_and_by_nobody_else(book: Book) -> None:
    other = ContainerId("other")
    holding = Holding(shares={"one": frozenset({unit(1)}), "two": frozenset({unit(3)})}, leaving=frozenset({unit(0)}))

    book.restore(ROOT, holding)
    book.restore(A, Holding(shares={"": frozenset({unit(3), unit(2)})}))

    assert book.holding(ROOT).shares == holding.shares
    assert minors(book, A) == [3]
    assert book.allocator.free == {unit(2)}
    with pytest.raises(NotAvailable):
        book.restore(other, Holding(shares={"": frozenset({unit(0)})}))
    book.settle(ROOT)
    assert book.allocator.free == {unit(0), unit(2)}


def test_the_end_of_a_container_is_the_end_of_what_is_nested_in_it(book: Book) -> None:
    book.admit(ROOT, {"one": 2})
    book.admit(A, {"": 2})

    book.dismiss(ROOT)
    book.dismiss(A)
    book.dismiss(ROOT)

    assert A not in book
    assert book.allocator.free == book.allocator.total
