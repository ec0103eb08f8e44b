"""docker/runtime: what of an image's configuration counts."""

from __future__ import annotations

import logging

import pytest

from tests.agent.isolators.views import config, refusal_of, root, view_of
from tfmesos.agent.isolators import Node
from tfmesos.agent.isolators.docker_runtime import DockerRuntimeIsolator
from tfmesos.agent.isolators.filesystem import LinuxFilesystemIsolator
from tfmesos.agent.isolators.linux_devices import LinuxDevicesIsolator
from tfmesos.wire import mesos_pb2


async def test_the_environment_of_the_image_lies_beneath_and_its_directory_counts() -> None:
    given = config(has_image=True, root=root(environment=("A=1", "B=x=y", "none", "=v", "E="), working_directory="/w"))

    view = await view_of(DockerRuntimeIsolator(is_ignored=False), given)

    assert view is not None
    assert view.environment == {"A": "1", "B": "x=y", "E": ""}
    assert view.working_directory == "/w"


async def test_an_empty_directory_of_the_image_is_none() -> None:
    view = await view_of(DockerRuntimeIsolator(is_ignored=False), config(has_image=True))

    assert view is not None
    assert view.working_directory is None


async def test_the_user_of_the_image_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    await view_of(DockerRuntimeIsolator(is_ignored=False), config(has_image=True, root=root(user="www"), user="u"))

    assert caplog.messages == ["container c: the user 'www' of the image repo/it is ignored: it runs as u"]


async def test_what_is_ignored_leaves_the_command_only() -> None:
    image = root(environment=("A=1",), working_directory="/w", entrypoint=("/e",), cmd=("c",))
    isolator = DockerRuntimeIsolator(is_ignored=True)

    view = await view_of(isolator, config(has_image=True, root=image))
    assert view is not None
    assert (view.environment, view.working_directory) == ({}, None)
    assert view.command is not None
    assert view.command.argv == ("sh", "-c", "true")
    nothing = config(has_image=True, root=image, command=mesos_pb2.CommandInfo(shell=False))
    assert await refusal_of(isolator, nothing) == "Failed to determine the launch command: No executable is found"


async def test_who_has_no_image_is_let_be() -> None:
    for isolator in (
        DockerRuntimeIsolator(is_ignored=False),
        LinuxFilesystemIsolator("/mnt/mesos/sandbox", has_shm=True),
        LinuxDevicesIsolator((Node(path="/dev/x", type="c", major=1, minor=1),)),
    ):
        assert await view_of(isolator, config()) is None
        assert not isolator.wants_view(config())
