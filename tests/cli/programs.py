"""Our programs run as a user runs them, with a mark that everything they start inherits."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

PATIENCE_S = 60.0
MARK = "JOB_TEST_MARK"
TFRUN = (sys.executable, "-m", "tfmesos.cli.tfrun")
MESOS_EXECUTE = (sys.executable, "-m", "tfmesos.cli.mesos_execute")


def wait_until(condition: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience_s:g} s: {what}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Result:
    status: int
    output: str
    errors: str

    @property
    def lines(self) -> list[str]:
        return self.output.splitlines()


@dataclass
class Workplace:
    """A user's surroundings of a test's own: state directory, runtime directory, current directory, mark."""

    directory: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        for path in (self.state, self.runtime, self.home):
            path.mkdir()

    @property
    def state(self) -> Path:
        return self.directory / "s"

    @property
    def runtime(self) -> Path:
        return self.directory / "r"

    @property
    def home(self) -> Path:
        return self.directory / "home"

    def environment(self, **more: str) -> dict[str, str]:
        ours = ("MESOS_", "LIBPROCESS_", "TFMESOS_", "DOCKER_IMAGE", "TF_CONFIG", "PYTHONUNBUFFERED")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        places = {"XDG_STATE_HOME": str(self.state), "XDG_RUNTIME_DIR": str(self.runtime), MARK: self.mark}
        return {**kept, **places, **more}

    def run(self, *command: str | bytes, **more: str) -> Result:
        done = subprocess.run(
            command,
            cwd=self.home,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    @contextlib.contextmanager
    def started(self, *command: str, **more: str) -> Iterator["Program"]:
        process = subprocess.Popen(
            command,
            cwd=self.home,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            yield Program(process)
        finally:
            process.kill()
            process.communicate()

    def marked(self) -> dict[int, str]:
        """The command lines of all processes that this workplace's programs started and that live."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                        text = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                        found[int(entry.name)] = text
        return found

    def find(self, text: str) -> list[int]:
        return [pid for pid, command in self.marked().items() if text in command]

    def wait_empty(self, within_s: float = 10.0) -> None:
        """No process, no socket, no lock is left."""
        wait_until(lambda: not self.marked(), f"nothing left of {self.marked()}", within_s)
        wait_until(lambda: not list(self.runtime.iterdir()), f"no socket in {self.runtime}", within_s)


class Program:
    """A running program; its output can be waited for."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._output = bytearray()
        self._errors = bytearray()

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_output(self, text: str, within_s: float = PATIENCE_S) -> None:
        """Wait until the text was seen on standard output."""
        self._read_until(text, self._process.stdout, self._output, within_s)

    def wait_error(self, text: str, within_s: float = PATIENCE_S) -> str:
        """What standard error holds when the text was seen there."""
        self._read_until(text, self._process.stderr, self._errors, within_s)
        return self._errors.decode()

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, within_s: float = PATIENCE_S) -> Result:
        output, errors = self._process.communicate(timeout=within_s)
        return Result(self._process.returncode, (self._output + output).decode(), (self._errors + errors).decode())

    def _read_until(self, text: str, stream: IO[bytes] | None, seen: bytearray, within_s: float) -> None:
        assert stream is not None
        deadline = time.monotonic() + within_s
        while text.encode() not in seen:
            readable = select.select([stream], [], [], max(deadline - time.monotonic(), 0))[0]
            piece = os.read(stream.fileno(), 65536) if readable else b""
            assert piece, f"{text!r} is not in {bytes(seen)!r}; {self._why()}"
            seen += piece

    def _why(self) -> str:
        if self._process.poll() is None:
            return "the program still runs"
        result = self.wait()
        return f"it ended with {result.status}: {result.output!r} {result.errors!r}"
