"""The fork server is lost before a supervisor knows its program."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.supervision.conftest import BuildSpec
from tfmesos.supervision import Supervisors
from tfmesos.supervision._channel import Channel


@pytest.mark.parametrize(("detached", "message"), [(True, None), (False, "the fork server was lost")])
async def test_only_a_detached_program_runs(
    supervisors: Supervisors,
    build_spec: BuildSpec,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    detached: bool,
    message: str | None,
) -> None:
    # given a supervisor that waits for its program
    send_program = Channel.send_program

    async def send_without_server(channel: Channel, frame: bytes) -> None:
        assert channel.server is not None
        os.kill(channel.server.pid, signal.SIGKILL)
        while channel.server.is_alive:
            os.sched_yield()
        await send_program(channel, frame)

    monkeypatch.setattr(Channel, "send_program", send_without_server)
    # when that comes, and the fork server is gone
    spec = replace(build_spec("sh", "-c", "exit 3"), record_dir=str(tmp_path), detached=detached)
    child = await supervisors.launch(spec)
    await child.release()
    # then it runs if it does not hang on that, else the reason is told
    termination = await child.wait()
    assert (termination.wait_status, termination.message) == (None if message else 3 << 8, message)
    # and what runs says the same in its record
    if detached:
        assert await supervisors.adopt(str(tmp_path)) == termination
