"""JSON that is put together from pieces which are written once.

A master may know tens of thousands of tasks, of which few change between two looks at a page. What was written of a
task is kept until its next change; who asks first has them written a few at a time, so that the event loop serves
others meanwhile.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

from tfmesos.master.core.books import Task
from tfmesos.wire.json_codec import dumps

_TURN_S = 0.005
"""For so long at once pieces are written before others get a turn."""


class Raw(bytes):
    """A JSON value that is written already."""


def json_object(model: Mapping[str, Any]) -> Raw:
    """An object, of which values may be `Raw`."""
    fields = (dumps(name) + b":" + (value if isinstance(value, Raw) else dumps(value)) for name, value in model.items())
    return Raw(b"{" + b",".join(fields) + b"}")


def json_list(values: Iterable[bytes]) -> Raw:
    """A list of values that are written already."""
    return Raw(b"[" + b",".join(values) + b"]")


class TaskTexts:
    """What `write` makes of tasks."""

    def __init__(self, write: Callable[[Task], bytes]) -> None:
        self._write = write
        self._kept: WeakKeyDictionary[Task, tuple[int, bytes]] = WeakKeyDictionary()

    def list(self, tasks: Iterable[Task]) -> Raw:
        """A list of tasks as they are now."""
        return json_list(map(self.text, tasks))

    def text(self, task: Task) -> bytes:
        """A task as it is now."""
        kept = self._kept.get(task)
        if kept is not None and kept[0] == task.revision:
            return kept[1]
        text = self._write(task)
        self._kept[task] = (task.revision, text)
        return text

    async def prepare(self, tasks: Iterable[Task]) -> None:
        """Write what is missing, with turns for others. Tasks that come or change meanwhile are left to `text`."""
        began = perf_counter()
        for task in list(tasks):
            self.text(task)
            if perf_counter() - began > _TURN_S:
                await asyncio.sleep(0)
                began = perf_counter()
