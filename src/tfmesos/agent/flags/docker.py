"""Flags of the Docker containerizer, and whether it is used."""

from __future__ import annotations

from dataclasses import dataclass

from tfmesos.agent.flags.values import one_of
from tfmesos.flags import flag


@dataclass(frozen=True, kw_only=True)
class DockerFlags:
    """A part of AgentFlags."""

    __slots__ = ()

    containerizers: str = flag(default="mesos", parse=one_of("mesos"), help="which containerizers to use: mesos")
