"""From the URIs of a command to items of a job (Mesos 1.11: fetcher.md)."""

from __future__ import annotations

from tfmesos.agent.fetch_program.errors import FetchError
from tfmesos.agent.fetch_program.job import Item
from tfmesos.agent.fetch_program.places import parts_of
from tfmesos.agent.fetch_program.uris import shown
from tfmesos.wire import mesos_pb2


def to_item(uri: mesos_pb2.CommandInfo.URI, source: str | None = None) -> Item:
    """What the child is asked for; `source` is a file that holds it already. Raises FetchError."""
    if not uri.value or "\0" in uri.value:
        raise FetchError(f"{shown(uri.value)!r} is no URI")
    name = uri.output_file or basename(uri.value)
    if not parts_of(name):
        raise FetchError(f"{shown(uri.value)!r} names no file, and there is no output_file")
    return Item(
        uri=uri.value,
        name=name,
        source=source,
        is_executable=uri.executable,
        is_extracted=uri.extract and not uri.executable,
    )


def basename(uri: str) -> str:
    """The last step of a URI's path, without query and fragment."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        return uri.rstrip("/").rpartition("/")[2]
    if scheme != "file":
        rest = rest.partition("#")[0].partition("?")[0]
    return rest.partition("/")[2].rstrip("/").rpartition("/")[2]
