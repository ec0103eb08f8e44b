"""What a supervisor writes down for an owner that comes later."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.supervision import SupervisionError, process_start_time
from tfmesos.supervision._record import Record
from tfmesos.supervision._recovery import read_record, remains_of

MESSAGES = st.none() | st.text(st.characters(codec="utf-8")) | st.just("/tmp/\udcff ünïcödé 💥 \"'\\\n\t\x7f")


def build_record(message: str | None = None) -> Record:
    record = Record(17, 4711)
    record.boot_id = "6a1c"
    record.message = message
    return record


def fields(record: Record) -> dict[str, object]:
    return {name: getattr(record, name) for name in Record.__slots__}


@given(message=MESSAGES, status=st.none() | st.integers(0, 65535), killed=st.booleans(), grace_s=st.floats(0, 1e6))
def test_a_record_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, message: str | None, status: int | None, killed: bool, grace_s: float
) -> None:
    directory = tmp_path_factory.getbasetemp() / "records"
    directory.mkdir(exist_ok=True)
    record = build_record(message)
    record.wait_status, record.killed, record.grace_s = status, killed, grace_s
    record.write(os.fsencode(directory))
    read = read_record(str(directory))
    assert read is not None
    assert fields(read) == fields(record)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 2}', '{"format": 1, "colour": "red"}'])
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(SupervisionError, match=r"record\.json"):
        read_record(str(tmp_path))


def test_no_record() -> None:
    assert read_record("/no/such/directory") is None


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    directory = tmp_path / "disk"
    directory.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", directory], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount: {mounted.stderr!r}")
    yield directory
    subprocess.run(["umount", directory], check=True)


def fill(disk: Path) -> None:
    with open(disk / "filler", "ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return


@pytest.mark.root
def test_on_a_full_disk_the_record_is_written_over_the_old_one(tiny_disk: Path) -> None:
    # given a record on a disk that is full now
    build_record("a long message that the next record does not have").write(os.fsencode(tiny_disk))
    fill(tiny_disk)
    # when it is written anew
    record = build_record()
    record.stage = "ended"
    record.write(os.fsencode(tiny_disk))
    # then it was
    read = read_record(str(tiny_disk))
    assert read is not None
    assert fields(read) == fields(record)
    # and a first one cannot be
    (tiny_disk / "record.json").unlink()
    fill(tiny_disk)
    with pytest.raises(OSError, match="No space"):
        record.write(os.fsencode(tiny_disk))


class TestRemains:
    """Of a tree whose supervisor and fork server are gone."""

    def test_are_the_session_and_what_descends_from_it(self) -> None:
        # given a session leader with a child in another session
        script = "setsid sh -c 'echo ready; exec sleep 1000' & echo ready; wait"
        with subprocess.Popen(["sh", "-c", script], start_new_session=True, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert [process.stdout.readline(), process.stdout.readline()] == [b"ready\n", b"ready\n"]
            record = build_record()
            record.task_pid, record.task_start_time = process.pid, process_start_time(process.pid)
            # then both are found, but not by a record of an earlier process with that pid
            found = remains_of(record)
            assert len(found) == 2
            assert process.pid in found
            assert record.task_start_time is not None
            record.task_start_time -= 1
            assert remains_of(record) == []
            for pid in found:
                os.kill(pid, 9)
