"""The calls of the v1 operator API that master and agent answer alike (Mesos 1.11)."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tfmesos.endpoints.daemon import Daemon, version_info
from tfmesos.endpoints.files import FileRefused, VirtualFiles
from tfmesos.endpoints.log_level import BadLevel
from tfmesos.wire import agent_pb2, master_pb2

_OFFSET_END = 2**63
C = TypeVar("C", master_pb2.Call, agent_pb2.Call)
R = TypeVar("R", master_pb2.Response, agent_pb2.Response)


class CallRefused(Exception):
    """An answer other than the call's own."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class DaemonCalls:
    """Answers those calls; what it does not know is left to the caller."""

    def __init__(self, daemon: Daemon, files: VirtualFiles) -> None:
        self._daemon = daemon
        self._files = files

    async def fill(self, name: str, call: C, response: R) -> bool:
        """Fill the response of the call of this name; false if it is none of these. Raises CallRefused."""
        match name:
            case "GET_HEALTH":
                response.get_health.healthy = True
            case "GET_FLAGS":
                for flag, value in sorted(self._daemon.flag_texts.items()):
                    response.get_flags.flags.add(name=flag, value=value)
            case "GET_VERSION":
                response.get_version.version_info.CopyFrom(version_info())
            case "GET_METRICS":
                for metric, number in self._daemon.snapshot().flat().items():
                    response.get_metrics.metrics.add(name=metric, value=number)
            case "GET_LOGGING_LEVEL":
                response.get_logging_level.level = self._daemon.log_level.level
            case "LIST_FILES":  # of a directory of any size
                await asyncio.to_thread(self._list_files, call, response)
            case "READ_FILE":
                self._read_file(call, response)
            case _:
                return False
        return True

    def set_logging_level(self, call: C) -> None:
        """SET_LOGGING_LEVEL, which is answered by an empty 200."""
        wanted = call.set_logging_level
        try:
            self._daemon.log_level.set(wanted.level, wanted.duration.nanoseconds / 1e9)
        except BadLevel as error:
            raise CallRefused(400, str(error)) from error

    def _list_files(self, call: C, response: R) -> None:
        try:
            entries = self._files.list(call.list_files.path)
        except FileRefused as refused:
            raise CallRefused(refused.status, refused.text) from refused
        response.list_files.SetInParent()
        response.list_files.file_infos.extend(entry.to_proto() for entry in entries)

    def _read_file(self, call: C, response: R) -> None:
        wanted = call.read_file
        length = wanted.length if wanted.HasField("length") else None
        try:
            if wanted.offset >= _OFFSET_END:
                raise FileRefused(400, f"Invalid offset: {wanted.offset}.\n")
            response.read_file.size, response.read_file.data = self._files.read(wanted.path, wanted.offset, length)
        except FileRefused as refused:
            raise CallRefused(refused.status, refused.text) from refused


async def encoded(response: R, encode: Callable[[R], bytes]) -> bytes:
    """A response written by `encode`, a listing of files beside the event loop: it may be large."""
    if response.HasField("list_files"):
        return await asyncio.to_thread(encode, response)
    return encode(response)
