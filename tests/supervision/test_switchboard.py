"""A switchboard by itself, with a clock of its own: what takes too long to wait for."""

import os
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tfmesos.supervision import Console, ProcessSpec
from tfmesos.supervision._attachment import MAX_WAITING
from tfmesos.supervision._frames import FrameReader, Kind, encode_frame
from tfmesos.supervision._reception import Visitor
from tfmesos.supervision._switchboard import LINGER_S, Switchboard
from tfmesos.supervision._translation import to_program
from tfmesos.supervision._waking import Waiter


class Board:
    """A switchboard, and the program's ends of its pipes."""

    def __init__(self, directory: Path) -> None:
        spec = ProcessSpec(id="1", argv=("cat",), environment={}, directory="/", stdout="stdout", stderr="stderr")
        spec = replace(spec, directory=str(directory), console=Console(), record_dir="/")
        self.waiter = Waiter(lambda: None)
        self.board = Switchboard(to_program(spec, has_terminal=False), self.waiter)
        self.stdin, self.stdout, self.stderr = map(os.dup, self.board.open())
        os.set_blocking(self.stdout, False)
        self.board.close_ends()

    def attach(self, wishes: bytes) -> socket.socket:
        """The client's end."""
        ours, theirs = socket.socketpair()
        for one in (ours, theirs):
            one.setblocking(False)
        self.board.attach(Visitor(theirs), [(Kind.ATTACH, wishes)])
        return ours

    def is_idle(self) -> bool:
        return self.board.is_idle

    def run(self) -> None:
        for _ in range(100):
            self.waiter.wait(0)

    def write_until_held(self) -> int:
        """Bytes that the program could write before it was held up."""
        written = before = 0
        while True:
            try:
                written += os.write(self.stdout, bytes(4096))
            except BlockingIOError:
                if written == before:
                    return written
                before = written
                self.run()


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    before = signal.set_wakeup_fd(-1)
    board = Board(tmp_path)
    yield board
    board.board.end()
    board.board.tick(float("inf"))
    board.waiter.close()
    for descriptor in (board.stdin, board.stdout, board.stderr):
        os.close(descriptor)
    signal.set_wakeup_fd(before)


def test_who_takes_nothing_for_too_long_holds_nobody_up(board: Board, tmp_path: Path) -> None:
    # given someone who attached and never reads, and a program that writes until it is held up
    with board.attach(b"o"):
        written = board.write_until_held()
        assert MAX_WAITING <= written <= MAX_WAITING + (4 << 20)
        deadline = board.board.deadline
        assert deadline is not None
        board.board.tick(deadline - 0.1)
        assert not board.is_idle()
        # when its time is over
        board.board.tick(deadline)
        # then it is gone and the program goes on
        assert board.is_idle()
        assert board.board.deadline is None
        board.run()
        assert os.write(board.stdout, bytes(4096)) == 4096
        board.run()
        assert (tmp_path / "stdout").stat().st_size == written + 4096


def test_who_takes_something_has_its_time_anew(board: Board) -> None:
    with board.attach(b"o") as reader:
        board.write_until_held()
        before = board.board.deadline
        assert before is not None
        while True:
            try:
                reader.recv(1 << 20)
            except BlockingIOError:
                break
        board.run()
        after = board.board.deadline
        assert after is None or after > before


def test_after_the_end_only_so_long_is_waited_for_readers(board: Board) -> None:
    with board.attach(b"o"):
        board.write_until_held()
        board.board.end()
        assert not board.is_idle()
        deadline = board.board.deadline
        assert deadline is not None
        board.board.tick(deadline - LINGER_S / 2)
        assert not board.is_idle()
        board.board.tick(deadline)
        assert board.is_idle()


def test_a_program_that_does_not_read_holds_its_writer_up(board: Board) -> None:
    # given someone who writes more than the program reads
    with board.attach(b"i") as writer:
        sent = before = 0
        while True:
            try:
                sent += writer.send(encode_frame(Kind.STDIN, bytes(4096)))
            except BlockingIOError:
                if sent == before:
                    break
                before = sent
                board.run()
        assert sent <= MAX_WAITING + (2 << 20)
        # when it goes, the program still gets what was sent
        writer.close()
        read = 0
        os.set_blocking(board.stdin, False)
        for _ in range(100):
            board.run()
            try:
                read += len(os.read(board.stdin, 1 << 20))
            except BlockingIOError:
                break
        assert read > MAX_WAITING


@pytest.mark.parametrize("garbage", [b"\xff" * 5, encode_frame(Kind.RESIZE, b"wide"), b"\x00\x00\x00\x00\x63"])
def test_who_speaks_nonsense_is_shown_out(board: Board, garbage: bytes) -> None:
    with board.attach(b"oi") as client:
        client.send(garbage)
        board.run()
        assert board.is_idle()
        data = client.recv(4096)
        assert FrameReader().feed(data) == [(Kind.ATTACHED, b"")]
        assert client.recv(4096) == b""
