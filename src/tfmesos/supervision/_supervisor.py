"""The process above one program: carries out what its Life decides."""

import os
import socket
from signal import SIGKILL, SIGTERM
from time import monotonic

from tfmesos.supervision._frames import FrameReader, Kind, Program, encode_ended, encode_frame
from tfmesos.supervision._life import Action, Life, Stage
from tfmesos.supervision._program import StartError, start_program
from tfmesos.supervision._tree import become_subreaper, signal_tree
from tfmesos.supervision._waking import Waiter, reap

_READ_SIZE = 256 << 10


def write_record(directory: bytes, life: Life) -> None:
    """Write record.json in `directory`: what was asked for, and how the program ended if it has."""
    import json  # only owners that want records pay for it

    record = {
        "stage": life.stage.value,
        "killed": life.killed,
        "wait_status": life.wait_status,
        "message": life.message,
    }
    path = os.path.join(os.fsdecode(directory), "record.json")
    with open(f"{path}.new", "w") as file:
        json.dump(record, file)
    os.rename(f"{path}.new", path)


class Supervisor:
    """Single-threaded; everything it waits for is a descriptor. Runs in a fork of the fork server."""

    def __init__(self, control: socket.socket, owner: int, server: int) -> None:
        """`control` leads to the program's owner, `owner` is its pidfd, `server` ends with the fork server."""
        self._control = control
        self._frames = FrameReader()
        self._program = Program()
        self._life = Life()
        self._main_pid = 0
        become_subreaper(b"tfmesos-superv")
        self._waiter = Waiter(self._on_children)
        self._waiter.add(control.fileno(), self._on_frames)
        self._waiter.add(owner, lambda: self._on_lost(owner, "the agent"))
        self._waiter.add(server, lambda: self._on_lost(server, "the fork server"))

    def run(self) -> None:
        """Until the program has ended and nothing of it is left."""
        self._say(Kind.HELLO, str(os.getpid()).encode())
        while self._life.stage is not Stage.ENDED:
            deadline = self._life.deadline
            self._waiter.wait(None if deadline is None else deadline - monotonic())
            self._perform(self._life.tick(monotonic()))

    def _on_frames(self) -> None:
        try:
            data = self._control.recv(_READ_SIZE)
        except ConnectionError:
            data = b""
        if not data:
            self._on_lost(self._control.fileno(), "the agent")
        for kind, body in self._frames.feed(data):
            self._on_frame(kind, body)

    def _on_frame(self, kind: Kind, body: bytes) -> None:
        if kind is Kind.PROGRAM:
            self._program = Program.decode(body)
        elif kind is Kind.RELEASE:
            self._perform(self._life.release())
        elif kind is Kind.KILL:
            self._perform(self._life.kill(float(body), monotonic()))

    def _on_lost(self, descriptor: int, what: str) -> None:
        self._waiter.remove(descriptor)
        self._perform(self._life.lose(what, self._program.grace_s, monotonic()))

    def _on_children(self) -> None:
        ended, left = reap()
        main_status = dict(ended).get(self._main_pid)
        self._perform(self._life.reaped(main_status, left=left, now=monotonic()))

    def _perform(self, actions: list[Action]) -> None:
        for action in actions:
            if action is Action.START:
                self._start()
            elif action is Action.REPORT_STARTED:
                self._report_started()
            elif action is Action.RECORD:
                self._record()
            elif action is Action.TERMINATE_TREE:
                signal_tree(os.getpid(), SIGTERM)
            elif action is Action.KILL_TREE:
                signal_tree(os.getpid(), SIGKILL)
            elif action is Action.REPORT_ENDED:
                life = self._life
                self._say(Kind.ENDED, encode_ended(life.wait_status, life.killed, life.message))

    def _start(self) -> None:
        try:
            self._main_pid = start_program(self._program)
        except StartError as error:
            self._perform(self._life.failed_to_start(str(error), executing=error.is_execution))
        else:
            self._perform(self._life.started())

    def _report_started(self) -> None:
        if self._life.is_started:
            self._say(Kind.STARTED, str(self._main_pid).encode())
        else:
            self._say(Kind.NOT_STARTED)

    def _record(self) -> None:
        """Write record.json anew, whole or not at all; a record that cannot be written ends no program."""
        life = self._life
        if self._program.record_dir:
            try:
                write_record(self._program.record_dir, life)
            except OSError as error:
                life.message = life.message or f"cannot write {error.filename!r}: {error.strerror}"

    def _say(self, kind: Kind, body: bytes = b"") -> None:
        try:
            self._control.sendall(encode_frame(kind, body))
        except OSError:
            return  # its reader is gone; that the channel ended is noticed where it is read
