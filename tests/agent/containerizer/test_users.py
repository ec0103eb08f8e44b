"""Containers of other users."""

from __future__ import annotations

import dataclasses
import os
import pwd
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agent.containerizer.conftest import Configure, output
from tfmesos.agent import AgentFlags
from tfmesos.agent.containerizer import Containerizer, LaunchFailed
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

pytestmark = pytest.mark.root
USER = "nobody"


@pytest.fixture
async def switching(flags: AgentFlags, tmp_path: Path) -> AsyncIterator[Containerizer]:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    for directory in (tmp_path, *tmp_path.parents[:2]):
        directory.chmod(0o755)
    running = Containerizer(dataclasses.replace(flags, switch_user=True), Supervisors())
    await running.start()
    yield running
    await running.close(end_detached=True)


async def test_the_sandbox_what_was_fetched_and_the_program_are_the_users(
    switching: Containerizer, configure: Configure, tmp_path: Path
) -> None:
    (tmp_path / "data").write_text("brought\n")
    command = mesos_pb2.CommandInfo(value="id -un; cat data; stat -c %U data . stderr")
    command.uris.add(value=f"{tmp_path}/data", cache=True)

    container = await switching.launch(configure("", user=USER, command=command))
    await container.open_gate()
    await container.wait()

    assert output(container).split() == [USER, "brought", USER, USER, USER]
    assert os.stat(container.directory).st_mode & 0o777 == 0o750


async def test_a_file_that_the_user_cannot_read_is_not_fetched(
    switching: Containerizer, configure: Configure, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("s")
    (tmp_path / "secret").chmod(0o600)
    command = mesos_pb2.CommandInfo(value="true")
    command.uris.add(value=f"{tmp_path}/secret")
    config = configure("", user=USER, command=command)

    with pytest.raises(LaunchFailed, match="exited with status 1"):
        await switching.launch(config)

    assert "Permission denied" in Path(config.directory, "stderr").read_text()  # noqa: ASYNC240


async def test_a_nested_container_has_the_user_of_its_parent(switching: Containerizer, configure: Configure) -> None:
    parent = await switching.launch(configure("sleep 60", user=USER))
    await parent.open_gate()
    nested = await switching.launch(configure("id -un; stat -c %U . ..", name="n", parent=parent.id))
    await nested.open_gate()

    await nested.wait()

    assert output(nested).split() == [USER] * 3
    assert os.stat(nested.directory).st_uid == pwd.getpwnam(USER).pw_uid


async def test_nobody_is_root_by_accident(switching: Containerizer, configure: Configure) -> None:
    with pytest.raises(LaunchFailed, match="none is root by accident"):
        await switching.launch(configure("true"))
    with pytest.raises(LaunchFailed, match="there is no user 'no-such-user'"):
        await switching.launch(configure("true", user="no-such-user"))
