"""A state that is kept as facts: over a full disk, and in a file that stays small."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tfmesos.journal import BINARY, TEXT, JournalUnreadable, Keeper, RecordCodec


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A name has this value now."""

    name: str
    value: bytes


class Things:
    """A state: the last value of each name."""

    def __init__(self, path: Path) -> None:
        self.keeper = Keeper.open(path, kind="things", version=1, codec=CODEC)
        self.values = {put.name: put.value for put in self.keeper.take_facts()}
        self.keeper.begin(lambda: [Put(name=name, value=value) for name, value in self.values.items()])

    def put(self, name: str, value: bytes) -> None:
        self.values[name] = value
        self.keeper.keep(Put(name=name, value=value))


CODEC = RecordCodec[Put]({1: (Put, (TEXT, BINARY))})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "things"


def read(path: Path) -> dict[str, bytes]:
    things = Things(path)
    things.keeper.close()
    return things.values


def size_of(path: Path) -> int:
    return path.stat().st_size


@contextmanager
def at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_the_file_stays_small_and_holds_all(path: Path) -> None:
    things = Things(path)
    largest = 0
    for number in range(3000):
        things.put(str(number % 50), number.to_bytes(2) * 2000)
        largest = max(largest, path.stat().st_size)
    things.keeper.close()

    assert read(path) == things.values
    assert largest < 1.1 * (4 << 20)


async def test_what_a_full_disk_does_not_take_waits_in_order(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    things = Things(path)
    things.put("a", b"1")

    with at_most(size_of(path)):
        things.put("a", b"2")
        things.put("b", b"1")
        assert read(path) == {"a": b"1"}
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(things.keeper.sync(), 0.05)
    await things.keeper.wait_written()

    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert not things.keeper.is_behind
    assert read(path) == {"a": b"2", "b": b"1"}
    things.keeper.close()


def test_a_file_too_full_to_be_written_anew_is_still_added_to(path: Path) -> None:
    things = Things(path)
    for number in range(500):
        things.put(str(number), bytes(8000))
    size = size_of(path)

    with at_most(size + 300_000):
        for number in range(30):
            things.put(str(number), bytes(8000) + b"!")
    things.keeper.close()

    assert read(path) == things.values


def test_a_record_of_another_meaning_is_refused_by_name(path: Path) -> None:
    other = RecordCodec[Put]({2: (Put, (TEXT, BINARY))})
    keeper = Keeper.open(path, kind="things", version=1, codec=other)
    keeper.begin(lambda: ())
    keeper.keep(Put(name="a", value=b""))
    keeper.close()

    with pytest.raises(JournalUnreadable, match=f"{path}: record 1 of 1: a record of an unknown kind"):
        Keeper.open(path, kind="things", version=1, codec=CODEC)
    lenient = Keeper.open(path, kind="things", version=1, codec=CODEC, strict=False)
    assert lenient.take_facts() == []
    assert lenient.skipped == 1
    lenient.close()
