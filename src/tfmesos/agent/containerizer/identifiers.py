"""Ids of containers: a tree (Mesos 1.11: they print as `parent.child`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tfmesos.wire import mesos_pb2

MAX_LENGTH = 242
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class ContainerId:
    """The id of a container, with the ids of the containers it is nested in."""

    value: str
    parent: ContainerId | None = None

    def __str__(self) -> str:
        return ".".join(reversed([item.value for item in self.lineage()]))

    @property
    def root(self) -> ContainerId:
        """The outermost container."""
        *_, root = self.lineage()
        return root

    def lineage(self) -> Iterator[ContainerId]:
        """This id, its parent's, and so on to the root's."""
        found: ContainerId | None = self
        while found is not None:
            yield found
            found = found.parent

    @classmethod
    def from_proto(cls, message: mesos_pb2.ContainerID) -> ContainerId:
        values = [message.value]
        while message.HasField("parent"):
            message = message.parent
            values.append(message.value)
        found: ContainerId | None = None
        for value in reversed(values):
            found = cls(value, found)
        assert found is not None
        return found

    def to_proto(self) -> mesos_pb2.ContainerID:
        message = mesos_pb2.ContainerID()
        level = message
        for item in self.lineage():
            level.value = item.value
            if item.parent is not None:
                level = level.parent
        return message


def container_id_fault(message: mesos_pb2.ContainerID) -> str | None:
    """Why an id from outside is not one; None if it is (texts of Mesos 1.11: common/validation.cpp)."""
    depth = 0
    while True:
        fault = _value_fault(message.value)
        if fault:
            return fault
        if not message.HasField("parent"):
            return None
        depth += 1
        if depth >= _MAX_DEPTH:
            return f"'ContainerID' is nested deeper than {_MAX_DEPTH} levels"
        message = message.parent


def _value_fault(value: str) -> str | None:
    if not value:
        return "'ContainerID.value' must be non-empty: ID must not be empty"
    if len(value) > MAX_LENGTH:
        return f"'ContainerID.value' '{value}' is invalid: ID must not be greater than {MAX_LENGTH} characters"
    if any(character in "/\\. " or ord(character) < 32 or ord(character) == 127 for character in value):
        return f"'ContainerID.value' '{value}' contains invalid characters"
    return None
