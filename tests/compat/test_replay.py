"""Recorded requests of stock programs, in order, against our master and agent: the answers are those of stock Mesos."""

import asyncio
from pathlib import Path

import pytest

from tests.compat.agent_side import AgentReplay
from tests.compat.differences import AGENT_SESSIONS, MASTER_SESSIONS, beyond_of, rows_of
from tests.compat.master_side import MasterReplay
from tests.compat.quick_loop import QuickLoop
from tests.compat.recording import Row
from tfmesos.agent import AgentFlags
from tfmesos.master import MasterFlags

# How many requests each session holds; fewer means that the replay passes some over.
REQUESTS = {
    "scheduler-json": 61,
    "scheduler-protobuf": 61,
    "scheduler-errors": 161,
    "mesos-execute": 81,
    "agent-registration": 3,
    "agent-task": 6,
}


@pytest.mark.parametrize("session", MASTER_SESSIONS)
def test_our_master_answers_a_recorded_session_as_stock_mesos_did(session: str) -> None:
    async def replay() -> MasterReplay:
        flags = MasterFlags(registry="in_memory", hostname="127.0.0.1")
        replay = MasterReplay(session, rows_of(session), flags)
        await replay.run()
        return replay

    with asyncio.Runner(loop_factory=QuickLoop) as runner:
        done = runner.run(replay())

    check(session, done.differences, done.replayed, done.compared)
    assert sorted(done.beyond) == beyond_of(session)


@pytest.mark.parametrize("session", AGENT_SESSIONS)
async def test_our_agent_answers_a_recorded_session_as_stock_mesos_did(session: str, tmp_path: Path) -> None:
    flags = AgentFlags(
        master="127.0.0.1:5050",
        ip="127.0.0.1",
        port=0,
        work_dir=str(tmp_path / "work"),
        hostname="127.0.0.1",
        resources="cpus:4;mem:4096;disk:10240;ports:[31000-32000]",
        switch_user=False,
        registration_backoff_factor=0.0,
    )
    replay = AgentReplay(session, rows_of(session), flags)

    await replay.run()

    check(session, replay.differences, replay.replayed, replay.compared)


def check(session: str, differences: dict[int, tuple[Row, list[str]]], replayed: int, compared: int) -> None:
    listed = rows_of(session)
    new = [
        f"{session} row {number} ({row.sender} to {row.receiver}, {row.what} {row.kind}, after {row.title!r}): {texts}"
        for number, (row, texts) in differences.items()
        if number not in listed
    ]
    gone = sorted(listed - differences.keys())
    print(f"{session}: {replayed} requests replayed, {compared} answers and events compared, {len(listed)} differ")
    assert not new, "\n".join(new)
    assert not gone, f"rows of {session} that are in the table and differ no more: {gone}"
    assert replayed == REQUESTS[session]
