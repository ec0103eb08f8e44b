"""How many processes there may be: the files are the same on both versions (PidsControl)."""

from tfmesos.cgroups import _files


class Pids:
    """Of one cgroup."""

    def __init__(self, path: str) -> None:
        self._path = path

    def set_limit(self, count: int | None) -> None:
        """By pids.max."""
        _files.write(f"{self._path}/pids.max", "max" if count is None else str(count))

    def limit(self) -> int | None:
        """By pids.max."""
        return _files.read_limit(f"{self._path}/pids.max")

    def count(self) -> int:
        """By pids.current."""
        return _files.read_number(f"{self._path}/pids.current")
