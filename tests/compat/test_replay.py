"""Every recorded request of stock programs, in order, against our master and agent: they answer as stock Mesos did."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.compat.agent_side import AgentReplay
from tests.compat.differences import absent_of
from tests.compat.master_side import MasterReplay
from tests.compat.quick_loop import QuickLoop
from tests.compat.sessions import SESSIONS, Session
from tests.compat.verdict import Findings, faults_of

_AT_ONCE = 4
"""How many agents of ours run side by side: most of a replay is waiting for tasks to end."""


@pytest.fixture(scope="module")
def agent_findings(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Findings]:
    """What the replays against our agent found, by session."""

    async def replay_all() -> dict[str, Findings]:
        turn = asyncio.Semaphore(_AT_ONCE)

        async def replay(session: Session, directory: Path) -> Findings:
            async with turn:
                replay = AgentReplay(session, absent_of(session.name), directory)
                await replay.run()
            return replay.findings

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(replay(session, tmp_path_factory.mktemp(session.name))) for session in SESSIONS]
        return {task.result().session: task.result() for task in tasks}

    return asyncio.run(replay_all())


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_a_recorded_session_goes_as_with_stock_mesos(
    session: Session, agent_findings: Mapping[str, Findings], tmp_path: Path
) -> None:
    both = [replay_to_master(session, tmp_path), agent_findings[session.name]]

    for findings in both:
        print(
            f"{findings.side}: {findings.replayed} requests replayed, {findings.compared} answers and events compared"
        )
    faults = faults_of(both)
    assert not faults, "\n".join(faults)
    assert sum(findings.replayed for findings in both) == session.to_master + session.to_agent


def replay_to_master(session: Session, directory: Path) -> Findings:
    async def replay() -> Findings:
        flags = session.master_flags
        if session.has_log:
            (directory / "mesos-master.INFO").write_text("a line of the log\n" * 100)
            flags = replace(flags, log_dir=str(directory))
        replay = MasterReplay(session.name, absent_of(session.name), flags)
        await replay.run()
        return replay.findings

    with asyncio.Runner(loop_factory=QuickLoop) as runner:
        return runner.run(replay())
