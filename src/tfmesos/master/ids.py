"""Names for the ids that travel through the master."""

from typing import NewType

FrameworkId = NewType("FrameworkId", str)
AgentId = NewType("AgentId", str)
TaskId = NewType("TaskId", str)
ExecutorId = NewType("ExecutorId", str)
OfferId = NewType("OfferId", str)
StreamId = NewType("StreamId", str)
