"""The process above one program: carries out what its Life decides."""

import os
import socket
from contextlib import suppress
from signal import SIGKILL, SIGTERM
from time import monotonic

from tfmesos.supervision._frames import FrameReader, Kind, Program, encode_ended, encode_frame
from tfmesos.supervision._life import Action, Life, Stage
from tfmesos.supervision._program import StartError, start_program
from tfmesos.supervision._reception import Reception, Visitor
from tfmesos.supervision._record import LifeRecord
from tfmesos.supervision._tree import become_subreaper, signal_tree
from tfmesos.supervision._waking import Waiter, reap
from tfmesos.supervision.processes import process_start_time

TYPE_CHECKING = False  # without typing, which is large
if TYPE_CHECKING:
    from tfmesos.supervision._starter import Starting
    from tfmesos.supervision._switchboard import Switchboard

_READ_SIZE = 256 << 10
_AGENT = "the agent"
_FORK_SERVER = "the fork server"


class Supervisor:
    """Single-threaded; everything it waits for is a descriptor. Runs in a fork of the fork server."""

    def __init__(self, control: socket.socket, owner: int, server: int) -> None:
        """`control` leads to the program's owner, `owner` is its pidfd, `server` ends with the fork server."""
        self._control: socket.socket | None = control
        self._frames = FrameReader()
        self._owner = owner
        self._server = server
        self._program = Program()
        self._is_program_known = False
        self._is_server_lost = False
        self._life = Life()
        self._main_pid = 0
        self._is_main_there = False
        self._deaf: list[int] = []
        """Processes that count as ended by SIGTERM when SIGKILL has ended them."""
        self._starting: Starting | None = None
        self._strays: dict[int, int] = {}
        """How processes ended while it was not known yet which is the main one."""
        self._record = LifeRecord()
        self._record_file: int | None = None
        self._reception: Reception | None = None
        self._switchboard: Switchboard | None = None
        become_subreaper(b"tfmesos-superv")
        self._waiter = Waiter(self._on_children)
        self._waiter.add(control.fileno(), self._on_frames)
        self._waiter.add(owner, self._on_owner_lost)
        self._waiter.add(server, self._on_server_lost)

    def be_reachable(self, listener: socket.socket, path: bytes, record: int) -> None:
        """From now on others than the owner can come to `listener`, bound at `path`, and read `record`."""
        self._reception = Reception(listener, path, self._waiter, self._on_visitor)
        self._record_file = record

    def run(self) -> None:
        """Until the program has ended and nothing of it is left."""
        self._say(Kind.HELLO, str(os.getpid()).encode())
        while self._life.stage is not Stage.ENDED or self._has_attached():
            deadlines = [self._life.deadline, self._switchboard.deadline if self._switchboard else None]
            deadline = min((one for one in deadlines if one is not None), default=None)
            self._waiter.wait(None if deadline is None else deadline - monotonic())
            self._perform(self._life.tick(monotonic()))
            if self._switchboard:
                self._switchboard.tick(monotonic())

    def _has_attached(self) -> bool:
        """Whether someone is to take the last output."""
        return self._switchboard is not None and not self._switchboard.is_idle

    def _on_frames(self) -> bool:
        """Read once; whether that is worth trying again now."""
        if self._control is None:
            return False
        try:
            data = self._control.recv(_READ_SIZE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except ConnectionError:
            data = b""
        for kind, body in self._frames.feed(data):
            self._on_frame(kind, body)
        if not data:
            self._forget_owner()
        return bool(data)

    def _on_frame(self, kind: Kind, body: bytes) -> None:
        if kind is Kind.PROGRAM:
            self._on_program(Program.decode(body))
        elif kind is Kind.RELEASE:
            self._perform(self._life.release())
        elif kind is Kind.KILL:
            self._perform(self._life.kill(float(body), monotonic()))
        elif kind is Kind.SIGNAL and self._is_main_there:
            os.kill(self._main_pid, int(body))

    def _on_program(self, program: Program) -> None:
        self._program = program
        if program.console or program.log_limit:
            from tfmesos.supervision._switchboard import Switchboard  # only its users pay for it

            self._switchboard = Switchboard(program, self._waiter)
        self._is_program_known = True
        self._heed_lost_server()

    def _on_owner_lost(self) -> None:
        """Its pidfd says so; what it still said comes first."""
        while self._on_frames():
            pass
        self._forget_owner()

    def _forget_owner(self) -> None:
        self._waiter.remove(self._owner)
        if self._control is None:
            return
        self._waiter.remove(self._control.fileno())
        self._control.close()
        self._control = None
        timeout_s, grace_s = self._program.recovery_timeout_s, self._program.grace_s
        if timeout_s is None:
            self._perform(self._life.lose(_AGENT, grace_s, monotonic()))
        else:
            leave_terminal()
            self._perform(self._life.leave(_AGENT, timeout_s, grace_s, monotonic()))

    def _on_server_lost(self) -> None:
        self._waiter.remove(self._server)
        self._is_server_lost = True
        self._heed_lost_server()

    def _heed_lost_server(self) -> None:
        """A detached program goes on: if this process is lost, too, its tree is found by its record.

        Before the program is known, that is not: an end told now would be in a record that the owner is about to make.
        """
        if self._is_server_lost and self._is_program_known and self._program.recovery_timeout_s is None:
            self._perform(self._life.lose(_FORK_SERVER, self._program.grace_s, monotonic()))

    def _on_visitor(self, visitor: Visitor, said: list[tuple[Kind, bytes]]) -> None:
        kind, _ = said[0]
        if kind is Kind.ADOPT:
            self._on_adopter(visitor)
        elif kind is Kind.ATTACH and self._switchboard:
            self._switchboard.attach(visitor, said)
        else:
            visitor.connection.close()

    def _on_adopter(self, visitor: Visitor) -> None:
        connection = visitor.connection
        while self._on_frames():  # the owner may have gone without being noticed yet
            pass
        if self._life.stage is Stage.ENDED:
            connection.close()
            return
        if self._control is not None:
            with connection:
                connection.send(encode_frame(Kind.REFUSED, b"it has an owner that lives"))
            return
        connection.setblocking(True)
        self._control, self._frames = connection, visitor.frames
        self._waiter.add(connection.fileno(), self._on_frames)
        self._life.adopt()
        self._say(Kind.HELLO, str(os.getpid()).encode())
        self._report_started()

    def _on_children(self) -> None:
        ended, left = reap()
        if self._starting is not None:
            self._strays.update(ended)
            if self._starting.pid in self._strays:
                self._on_made(self._starting, left=left)
                return
        main_status = dict(ended).get(self._main_pid) if self._is_main_there else None
        if main_status is not None:
            self._is_main_there = False  # from now on its pid may be another process'
        if main_status == SIGKILL and self._main_pid in self._deaf:
            main_status = int(SIGTERM)
        self._perform(self._life.reaped(main_status, left=left, now=monotonic()))

    def _on_made(self, starting: "Starting", *, left: bool) -> None:
        """The main process may have ended already; then this supervisor was not yet its parent, or it was quick."""
        statuses, self._starting, self._strays = self._strays, None, {}
        try:
            self._main_pid = starting.main_pid(statuses[starting.pid])
        except StartError as error:
            self._fail(error, left=left)
            return
        self._is_main_there = self._main_pid not in statuses
        self._perform(self._life.started())
        self._perform(self._life.reaped(statuses.get(self._main_pid), left=left, now=monotonic()))

    def _perform(self, actions: list[Action]) -> None:
        for action in actions:
            if action is Action.START:
                self._start()
            elif action is Action.REPORT_STARTED:
                self._report_started()
            elif action is Action.RECORD:
                self._note()
            elif action is Action.TERMINATE_TREE:
                self._deaf = signal_tree(os.getpid(), SIGTERM)
            elif action is Action.KILL_TREE:
                signal_tree(os.getpid(), SIGKILL)
            elif action is Action.REPORT_ENDED:
                self._report_ended()

    def _start(self) -> None:
        try:
            if self._program.starter:
                self._begin_starting()
                return
            self._main_pid = start_program(self._program, self._switchboard)
        except StartError as error:
            self._fail(error, left=False)
        else:
            self._is_main_there = True
            self._perform(self._life.started())

    def _begin_starting(self) -> None:
        from tfmesos.supervision._starter import Starting  # only its users pay for it

        if self._switchboard and self._program.starter[2]:
            self._switchboard.expect_terminal(self._program.starter[2])
        self._starting = Starting(self._program, self._switchboard)

    def _fail(self, error: StartError, *, left: bool) -> None:
        self._perform(self._life.failed_to_start(str(error), executing=error.is_execution, left=left, now=monotonic()))

    def _report_started(self) -> None:
        if self._starting is not None:  # that is not known yet
            return
        if self._life.is_started:
            self._say(Kind.STARTED, str(self._main_pid).encode())
        else:
            self._say(Kind.NOT_STARTED)

    def _report_ended(self) -> None:
        if self._control is None and (self._program.recovery_timeout_s is None or self._life.is_given_up):
            self._leave_nothing()
        if self._switchboard is not None:
            self._switchboard.end()
        if self._reception is not None:
            self._reception.close()
        life = self._life
        self._say(Kind.ENDED, encode_ended(life.wait_status, life.killed, life.message))

    def _leave_nothing(self) -> None:
        """Nobody else will."""
        if self._program.epilogue:
            from tfmesos.supervision._epilogue import run_epilogue

            run_epilogue(self._program.epilogue)
        for directory in self._program.cgroup_directories:
            with suppress(OSError):
                os.rmdir(directory)

    def _note(self) -> None:
        """Bring the record up to date; one that cannot be written ends no program."""
        if self._record_file is None:
            return
        life, record = self._life, self._record
        record.stage, record.killed = life.stage.value, life.killed
        record.wait_status, record.message = life.wait_status, life.message
        if self._is_main_there and record.task_pid is None:
            record.task_pid, record.task_start_time = self._main_pid, process_start_time(self._main_pid)
        try:
            record.write(self._record_file)
        except OSError as error:
            life.message = life.message or f"its record cannot be written: {error.strerror}"

    def _say(self, kind: Kind, body: bytes = b"") -> None:
        if self._control is None:
            return
        try:
            self._control.sendall(encode_frame(kind, body))
        except OSError:
            return  # its reader is gone; that the channel ended is noticed where it is read


def leave_terminal() -> None:
    """What waits for the end of the owner's output shall not wait for who outlives it."""
    null = os.open(b"/dev/null", os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 2)
    os.close(null)
