"""What an operator knows who only listens to announcements: to be compared with the books."""

from __future__ import annotations

from tfmesos.master.core import Books
from tfmesos.wire import master_pb2
from tfmesos.wire.text import TERMINAL_STATES

_Event = master_pb2.Event


class Mirror:
    """Frameworks, agents and the states of tasks, by ids; an announcement out of turn is an assertion."""

    def __init__(self, books: Books) -> None:
        """Who begins to listen when nothing runs yet."""
        self.frameworks: set[str] = set(books.frameworks)
        self.agents: set[str] = set(books.agents)
        self.tasks: dict[tuple[str, str], int] = {}

    def take(self, event: _Event) -> None:
        match event.type:
            case _Event.FRAMEWORK_ADDED:
                framework_id = event.framework_added.framework.framework_info.id.value
                assert framework_id not in self.frameworks
                self.frameworks.add(framework_id)
            case _Event.FRAMEWORK_UPDATED:
                assert event.framework_updated.framework.framework_info.id.value in self.frameworks
            case _Event.FRAMEWORK_REMOVED:
                self.frameworks.remove(event.framework_removed.framework_info.id.value)
            case _Event.AGENT_ADDED:
                self.agents.add(event.agent_added.agent.agent_info.id.value)
            case _Event.AGENT_REMOVED:
                self.agents.remove(event.agent_removed.agent_id.value)
            case _Event.TASK_ADDED:
                task = event.task_added.task
                assert task.framework_id.value in self.frameworks
                self.tasks[task.framework_id.value, task.task_id.value] = task.state
            case _Event.TASK_UPDATED:
                update = event.task_updated
                key = update.framework_id.value, update.status.task_id.value
                if self.tasks[key] not in TERMINAL_STATES:
                    self.tasks[key] = update.state
            case _:
                raise AssertionError(event)
