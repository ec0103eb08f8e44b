"""--default_container_info: what containers are that do not say it (Mesos 1.11: containerizer.cpp, launch)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tfmesos.flags import FlagError
from tfmesos.wire import JsonError, JsonSyntaxError, mesos_pb2
from tfmesos.wire.json_codec import message_from_json

if TYPE_CHECKING:
    from tfmesos.agent.containerizer.config import ContainerConfig


def parse_container_info(text: str) -> mesos_pb2.ContainerInfo:
    """Of ContainerInfo as JSON. Raises FlagError."""
    try:
        return message_from_json(mesos_pb2.ContainerInfo, text)
    except (JsonError, JsonSyntaxError) as error:
        raise FlagError(f"not a ContainerInfo: {error}") from error


def with_default_container(config: ContainerConfig, default: mesos_pb2.ContainerInfo | None) -> ContainerConfig:
    """Tasks and executors have the default if they have none; nested containers are what they say."""
    if default is None or config.container is not None or config.id.parent is not None:
        return config
    return replace(config, container=default)
