"""Whatever is killed with -9 while a container begins or ends, nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.agent.oci.conftest import IMAGE_MOUNTS, Containers
from tests.agent.oci.seen import mounts
from tests.cgroup_trees import cgroups_below, pids_below
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.images import Root
from tfmesos.agent.isolators import View
from tfmesos.agent.oci import OciRuntime
from tfmesos.agent.oci.rights import Rights

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

IMAGE = View(mounts=IMAGE_MOUNTS)
ROUNDS = 8


async def test_a_process_of_the_start_is_killed(containers: Containers, root: Root, cgroups_root: str) -> None:
    before = mounts()
    chance = random.Random(5)
    for number in range(ROUNDS):
        # given a container that begins
        name = f"c{number}"
        starting = asyncio.create_task(containers.start("sleep", "1000", name=name, root=root, view=IMAGE))
        await asyncio.sleep(chance.uniform(0.005, 0.06))
        # when any process of it is killed
        process_ids = pids_below(cgroups_root)
        if process_ids:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(process_ids), signal.SIGKILL)
        process = await starting
        if process.task_pid is not None:  # the one that was killed had done its part
            process.kill(0.0)
        # then it ends, and nothing is left
        async with asyncio.timeout(10):
            await process.wait()
        await containers.end(name)
        assert [path for path in cgroups_below(cgroups_root) if path.name.startswith(name)] == []
    assert mounts() == before


async def test_a_start_that_is_given_up_leaves_nothing(containers: Containers, root: Root, flags: AgentFlags) -> None:
    for turns in range(12):
        starting = asyncio.create_task(containers.start("true", root=root, view=IMAGE))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        with suppress(asyncio.CancelledError):
            await starting
        if containers.started:
            await containers.end()
        assert list((flags.runtime_path / "oci").glob("*/*")) == []


async def test_what_no_container_is_known_of_is_removed(containers: Containers, flags: AgentFlags) -> None:
    # given containers, one of which the next agent does not know, and what a runtime that was killed has left
    known = await containers.start("sleep", "1000", name="known", view=View())
    lost = await containers.start("sleep", "1000", name="lost", view=View())
    folder = flags.runtime_path / "oci"
    (folder / "state/half").mkdir()
    (folder / "bundles/half").mkdir()
    (folder / "trials/half").mkdir()
    # when the next agent looks
    config = containers.configs[ContainerId("known")]
    await OciRuntime.find(flags).recover({config.id: config}, {})
    # then there is but the known one
    assert os.listdir(folder / "state") == os.listdir(folder / "bundles") == ["known"]
    assert os.listdir(folder / "trials") == []
    assert (await lost.wait()).wait_status == signal.SIGKILL
    assert known.termination is None


async def test_a_runtime_that_is_gone_is_told_and_its_files_go(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for place in ("state", "bundles"):
        (tmp_path / place / "left").mkdir(parents=True)
    await OciRuntime("/no/such/runc", tmp_path, "mesos", Rights.read()).recover({}, {})
    assert "/no/such/runc cannot be run: No such file or directory" in caplog.text
    assert os.listdir(tmp_path / "state") == os.listdir(tmp_path / "bundles") == []


async def test_an_id_like_an_option_is_a_containers_name(containers: Containers) -> None:
    process = await containers.start("true", name="-v", view=View())
    assert (await process.wait()).wait_status == 0
    await containers.end("-v")


async def test_the_epilogue_leaves_nothing_of_the_runtimes(
    containers: Containers, flags: AgentFlags, cgroups_root: str
) -> None:
    await (await containers.start("true", view=View())).wait()
    for _ in range(2):  # the second time there is nothing to do
        await asyncio.to_thread(subprocess.run, containers.specs[ContainerId("c")].epilogue, check=True)
    assert os.listdir(flags.runtime_path / "oci/state") == []
    assert [path for path in cgroups_below(cgroups_root) if path.name == "oci"] == []
