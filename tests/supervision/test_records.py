"""What a supervisor writes down for an owner that comes later."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.disks import fill_disk
from tfmesos.supervision import ProcessSpec, SupervisionError, process_start_time
from tfmesos.supervision._place import Origin, Place, decode, encode, read
from tfmesos.supervision._record import LIFE_OFFSET, SIZE, LifeRecord
from tfmesos.supervision._recovery import remains_of

MESSAGES = st.none() | st.text(st.characters(codec="utf-8")) | st.just("/tmp/\udcff ünïcödé 💥 \"'\\\n\t\x7f")


ORIGIN = Origin(
    pid=17,
    start_time=4711,
    boot_id="6a1c",
    server_pid=16,
    server_start_time=4710,
    socket="control.sock",
    has_console=False,
    grace_s=0.25,
    mark="HOME=/tmp/\udcff ü",
)
SPEC = ProcessSpec(id="1", argv=("true",), environment={}, directory="/", stdout="/dev/null", stderr="/dev/null")


def write(directory: Path, life: LifeRecord) -> None:
    (directory / "record.json").write_bytes(encode(ORIGIN, life))


def read_life(directory: Path) -> LifeRecord:
    record = read(str(directory))
    assert record is not None
    assert record[0] == ORIGIN
    return record[1]


@pytest.mark.parametrize("bit", range(8))
def test_damage_in_the_owners_part_is_noticed(bit: int) -> None:
    whole = encode(ORIGIN, LifeRecord())
    for position in range(len(whole[:LIFE_OFFSET].rstrip())):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << bit
        assert decode(bytes(damaged)) is None, position


def fields(life: LifeRecord) -> dict[str, object]:
    return {name: getattr(life, name) for name in LifeRecord.__slots__}


@given(
    message=MESSAGES,
    status=st.none() | st.integers(0, 65535),
    killed=st.booleans(),
    task_pid=st.none() | st.integers(1, 2**22),
)
def test_a_record_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    message: str | None,
    status: int | None,
    killed: bool,
    task_pid: int | None,
) -> None:
    directory = tmp_path_factory.getbasetemp() / "records"
    directory.mkdir(exist_ok=True)
    life = LifeRecord("ending", killed, status, message, task_pid, 2**40)
    write(directory, life)
    assert json.loads((directory / "record.json").read_bytes())["life"]["message"] == message
    assert fields(read_life(directory)) == fields(life)


def test_of_a_long_message_the_beginning_is_kept(tmp_path: Path) -> None:
    for character in "x💥\udcff":
        write(tmp_path, LifeRecord("ended", message=character * 10000))
        message = read_life(tmp_path).message or ""
        assert message == character * len(message)
        assert len(message) >= 200
        assert (tmp_path / "record.json").stat().st_size == SIZE


WHOLE = encode(ORIGIN, LifeRecord(message="all is well"))


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b'{"format": 2}',
        b"{" + WHOLE,
        b"?" + WHOLE[1:],
        WHOLE[:100],
        WHOLE[:1100],
        WHOLE.replace(b"all is", b"not so"),
        WHOLE.replace(b"1", b"2", 1),
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "record.json").write_bytes(data)
    with pytest.raises(SupervisionError, match=r"record\.json"):
        read(str(tmp_path))


def test_no_record(tmp_path: Path) -> None:
    assert read("/no/such/directory") is None
    place = Place(str(tmp_path), 0)  # prepared, but not written before its owner was lost
    assert read(str(tmp_path)) is None
    LifeRecord("ended").write(place.descriptors[1])  # its supervisor was faster
    assert read(str(tmp_path)) is None
    place.close(is_given_up=True)
    assert os.listdir(tmp_path) == []


@pytest.mark.root
def test_on_a_full_disk_the_life_goes_on_to_be_recorded(tiny_disk: Path) -> None:
    # given a record on a disk that is full now
    (tiny_disk / "other").mkdir()
    place = Place(str(tiny_disk), 0)
    place.write((17, 4711), (16, 4710), SPEC)
    fill_disk(tiny_disk)
    # when it changes
    life = LifeRecord("ended", message="a long message that the record before did not have")
    life.write(place.descriptors[1])
    place.close(is_given_up=False)
    # then it could be written
    record = read(str(tiny_disk))
    assert record is not None
    assert fields(record[1]) == fields(life)
    # and another one cannot be made, nor is anything left of it
    other = Place(str(tiny_disk / "other"), 0)
    with pytest.raises(SupervisionError, match="No space"):
        other.write((17, 4711), (16, 4710), SPEC)
    other.close(is_given_up=True)
    assert os.listdir(tiny_disk / "other") == []


class TestRemains:
    """Of a tree whose supervisor and fork server are gone."""

    def test_are_the_session_and_what_descends_from_it(self) -> None:
        # given a session leader with a child in another session
        script = "setsid sh -c 'echo ready; exec sleep 1000' & echo ready; wait"
        with subprocess.Popen(["sh", "-c", script], start_new_session=True, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert [process.stdout.readline(), process.stdout.readline()] == [b"ready\n", b"ready\n"]
            started = process_start_time(process.pid)
            assert started is not None
            life = LifeRecord(task_pid=process.pid, task_start_time=started)
            # then both are found, but not by a record of an earlier process with that pid
            found = remains_of(life)
            assert len(found) == 2
            assert process.pid in found
            life.task_start_time = started - 1
            assert remains_of(life) == []
            for pid in found:
                os.kill(pid, 9)
