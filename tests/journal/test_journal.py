"""What a journal holds after everything that can happen to its file."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfmesos.journal import Journal, JournalDamaged, JournalMismatch, JournalWriteError

RECORDS = [b"one", b"", b"three" * 40, bytes(range(256))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state"


def opened(path: Path, *, kind: str = "things", version: int = 1, strict: bool = True) -> Journal:
    return Journal.open(path, kind=kind, version=version, strict=strict)


def written(path: Path, records: list[bytes]) -> bytes:
    journal = opened(path)
    for record in records:
        journal.append(record)
    journal.close()
    return path.read_bytes()


def read(path: Path, *, strict: bool = True) -> list[bytes]:
    journal = opened(path, strict=strict)
    journal.close()
    return journal.take_records()


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """No file grows beyond `size`: the kernel takes part of a write, then refuses, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_was_appended_is_read_again_in_order(path: Path) -> None:
    written(path, RECORDS[:2])

    journal = opened(path)
    for record in RECORDS[2:]:
        journal.append(record)
    journal.close()

    again = opened(path)
    assert again.records == RECORDS
    assert again.warning is None
    assert again.size == path.stat().st_size
    assert again.take_records() == RECORDS
    assert again.records == []
    again.close()


def test_only_its_user_may_read_it(path: Path) -> None:
    written(path, [b"secret"])

    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_cut_at_any_byte_holds_the_records_before_the_cut(path: Path) -> None:
    whole = written(path, RECORDS)
    ends = [len(whole) - sum(12 + len(record) for record in RECORDS[count:]) for count in range(len(RECORDS) + 1)]

    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        journal = opened(path)
        count = sum(end <= cut for end in ends[1:])

        assert journal.records == RECORDS[:count], cut
        assert (journal.warning is None) == (cut in ends or cut < ends[0]), cut
        journal.append(b"after")
        journal.close()
        assert read(path) == [*RECORDS[:count], b"after"], cut


@pytest.mark.parametrize("tail", [bytes(5), bytes(4096), b"\xff" * 30])
def test_a_tail_that_is_no_record_is_cut_off_and_told(path: Path, tail: bytes) -> None:
    whole = written(path, RECORDS)
    path.write_bytes(whole + tail)

    journal = opened(path)
    journal.close()

    assert journal.records == RECORDS
    assert journal.warning is not None
    assert f"{len(tail)} bytes of a torn record at byte {len(whole)} were cut off" in journal.warning
    assert path.read_bytes() == whole


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damage_anywhere_is_never_taken_for_a_record(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("journal") / "state"
    whole = bytearray(written(path, RECORDS))
    start = whole.index(b"\n") + 1
    place = data.draw(st.integers(start, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(whole)
    is_last = place >= len(whole) - 12 - len(RECORDS[-1])

    if is_last:
        assert read(path) == RECORDS[:-1]
    else:
        with pytest.raises(JournalDamaged, match=f"{path}: damaged at byte"):
            opened(path)
        assert path.read_bytes() == whole
        intact = read(path, strict=False)
        assert len(intact) == len(RECORDS) - 1
        assert all(record in RECORDS for record in intact)


@pytest.mark.parametrize(
    ("contents", "found"),
    [
        (b"tfmesos-journal things 2\n", "things format 2"),
        (b"tfmesos-journal others 1\n", "others format 1"),
        (b"something else\n", "no journal of tfmesos"),
        (b"\x00\x01", "no journal of tfmesos"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_what_is_not_ours_is_refused_by_name_and_left_alone(
    path: Path, contents: bytes, found: str, strict: bool
) -> None:
    path.write_bytes(contents)

    with pytest.raises(JournalMismatch) as refused:
        opened(path, strict=strict)

    assert str(refused.value).startswith(f"{path}: found {found}, expected things format 1")
    assert path.read_bytes() == contents


def test_a_full_disk_is_told_and_what_was_there_stays(path: Path) -> None:
    journal = opened(path)
    journal.append(b"kept")
    size = journal.size

    with (
        at_most(size + 1000),
        pytest.raises(JournalWriteError, match="cannot add a record of 5000 bytes: File too large"),
    ):
        journal.append(bytes(5000))

    assert path.stat().st_size == size
    journal.append(b"again")
    journal.close()
    assert read(path) == [b"kept", b"again"]


def test_a_rewrite_replaces_the_records_and_goes_on(path: Path) -> None:
    journal = opened(path)
    for number in range(100):
        journal.append(b"%d" % number)
    size = journal.size

    journal.rewrite([b"sum"])
    journal.append(b"next")
    journal.close()

    assert journal.size < size
    assert journal.size == path.stat().st_size
    assert read(path) == [b"sum", b"next"]


def test_a_rewrite_without_room_leaves_the_old_records(path: Path) -> None:
    journal = opened(path)
    journal.append(b"old")

    with at_most(100), pytest.raises(JournalWriteError, match="cannot be written anew: File too large"):
        journal.rewrite([bytes(5000)])

    journal.append(b"new")
    journal.close()
    assert read(path) == [b"old", b"new"]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_what_a_crashed_rewrite_left_is_removed(path: Path) -> None:
    written(path, [b"one"])
    path.with_name("state.new").write_bytes(b"half of it")

    assert read(path) == [b"one"]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


async def test_callers_at_the_same_time_share_a_flush(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushes = 0
    flush = os.fdatasync

    def counted(descriptor: int) -> None:
        nonlocal flushes
        flushes += 1
        flush(descriptor)

    monkeypatch.setattr(os, "fdatasync", counted)
    journal = opened(path)

    async def append_and_sync(number: int) -> None:
        journal.append(b"%d" % number)
        await journal.sync()

    await asyncio.gather(*(append_and_sync(number) for number in range(50)))
    assert 1 <= flushes <= 2
    await journal.sync()
    assert flushes <= 2
    journal.close()
    assert len(read(path)) == 50


async def test_a_failed_flush_is_told_to_all_until_the_file_is_written_anew(path: Path) -> None:
    journal = opened(path)
    reader, writer = os.pipe()  # the kernel flushes no pipes
    file, journal._descriptor = journal._descriptor, writer
    journal.append(b"lost")

    for _ in range(2):
        with pytest.raises(JournalWriteError, match="cannot be flushed to disk"):
            await journal.sync()

    os.close(reader)
    os.close(file)
    journal.rewrite([b"kept"])
    await journal.sync()
    journal.close()
    assert read(path) == [b"kept"]


async def test_a_rewrite_whose_directory_cannot_be_flushed_goes_on_in_the_new_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(path)
    journal.append(b"old")
    flush = os.fsync

    def failing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flush(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        journal.rewrite([b"sum"])
    journal.append(b"next")

    with pytest.raises(JournalWriteError, match="its directory cannot be flushed to disk"):
        await journal.sync()
    assert read(path) == [b"sum", b"next"]
    journal.rewrite([b"again"])
    await journal.sync()
    journal.close()
    assert read(path) == [b"again"]


async def test_a_flush_outlives_its_caller_a_rewrite_and_the_end(path: Path) -> None:
    journal = opened(path)
    journal.append(b"one")
    caller = asyncio.create_task(journal.sync())
    await asyncio.sleep(0)
    caller.cancel()
    journal.rewrite([b"two"])
    journal.append(b"three")
    await journal.sync()
    journal.close()

    assert read(path) == [b"two", b"three"]


_WRITER = """
import sys
from pathlib import Path
from tfmesos.journal import Journal
journal = Journal.open(Path(sys.argv[1]), kind="things", version=1)
number = int(journal.records[-1].split()[0]) if journal.records else 0
while True:
    number += 1
    journal.append(b"%d " % number + bytes(number % 3000))
    if number % 50 == 0:
        journal.rewrite([b"%d " % number])
    print(number, flush=True)
"""


def test_kill_9_loses_nothing_that_was_appended(path: Path) -> None:
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            lines = [writer.stdout.readline() for _ in range(120)]
            writer.send_signal(signal.SIGKILL)
            told = int([*lines, *writer.stdout][-1])
        last = int(read(path)[-1].split()[0])

        assert last in (told, told + 1)
