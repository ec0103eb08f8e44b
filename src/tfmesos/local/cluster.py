"""The launcher's side of the embedded cluster: starts the child process, watches it, ends it."""

from types import TracebackType
from typing import Self

from tfmesos.local.errors import LocalClusterError
from tfmesos.local.needs import LocalNeeds

__all__ = ["LocalCluster"]


class LocalCluster:
    """A running embedded cluster; an async context manager that ends it.

    `master` is what `discovery.build_detector` takes; `work_dir` is this run's directory, where the sandboxes stay;
    `note` is one line for the user when more is offered than the machine has.
    """

    def __init__(self, needs: LocalNeeds) -> None:
        self.needs = needs
        self.master = ""
        self.work_dir = ""
        self.note: str | None = None

    @classmethod
    async def start(cls, needs: LocalNeeds) -> Self:
        """Start the child process and wait until its agent is registered. Raises `LocalClusterError`."""
        raise LocalClusterError("the embedded cluster is not built yet")

    async def wait_died(self) -> str:
        """Wait until the child process ends without having been asked to; return the text that says so."""
        raise LocalClusterError("the embedded cluster is not built yet")

    async def close(self) -> None:
        """End the cluster with all its tasks, and wait until nothing is left. Idempotent."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
