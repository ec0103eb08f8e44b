"""Where the tasks of a gang listen."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAddress:
    """One task of a gang and the port it was given."""

    job: str
    index: int
    host: str
    port: int

    @property
    def text(self) -> str:
        """`host:port`, an IPv6 address in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ClusterAddresses:
    """All tasks of a gang, in order of role (as the user gave them) and index."""

    tasks: tuple[TaskAddress, ...]

    @property
    def jobs(self) -> tuple[str, ...]:
        """The roles, each once, in the user's order."""
        return tuple(dict.fromkeys(task.job for task in self.tasks))

    def of(self, job: str) -> dict[int, str]:
        """`{index: "host:port"}` of one role, by index; empty for a role that is absent."""
        found = {task.index: task.text for task in self.tasks if task.job == job}
        return dict(sorted(found.items()))

    def spec(self) -> dict[str, list[str] | dict[int, str]]:
        """What tf.train.ClusterSpec takes: a list where the indices start at 0 and have no gap, else a sparse dict."""
        return {job: _dense_or_sparse(self.of(job)) for job in self.jobs}


def _dense_or_sparse(addresses: dict[int, str]) -> list[str] | dict[int, str]:
    if list(addresses) == list(range(len(addresses))):
        return list(addresses.values())
    return addresses
