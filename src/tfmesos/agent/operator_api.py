"""The v1 operator API of the agent: `POST /api/v1` (Mesos 1.11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tfmesos.agent.files import FileEntry, FileRefused, SandboxFiles
from tfmesos.agent.state import AgentView, metrics, version_info
from tfmesos.flags import flag_texts
from tfmesos.wire import agent_pb2, mesos_pb2
from tfmesos.wire.errors import BadBody
from tfmesos.wire.media import JSON, PROTOBUF, chosen_media, encode, read_call

_ALLOWED = f"{JSON} or {PROTOBUF} or application/recordio"
_Call = agent_pb2.Call
_Response = agent_pb2.Response


class CallRefused(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class OperatorApi:
    """Answers calls."""

    def __init__(self, view: AgentView, files: SandboxFiles) -> None:
        self._view = view
        self._files = files
        self._answers: Mapping[_Call.Type.ValueType, Callable[[agent_pb2.Call, agent_pb2.Response], None]] = {
            _Call.GET_HEALTH: self._get_health,
            _Call.GET_FLAGS: self._get_flags,
            _Call.GET_VERSION: self._get_version,
            _Call.GET_METRICS: self._get_metrics,
            _Call.GET_FRAMEWORKS: self._get_frameworks,
            _Call.GET_TASKS: self._get_tasks,
            _Call.GET_STATE: self._get_state,
            _Call.GET_AGENT: self._get_agent,
            _Call.LIST_FILES: self._list_files,
            _Call.READ_FILE: self._read_file,
        }

    def answer(self, content_type: str | None, accept: str | None, body: bytes) -> tuple[str, bytes]:
        """Content type and body of a 200; everything else raises CallRefused. The checks have Mesos' order."""
        call = _parse(content_type, body)
        fault = _fault(call)
        if fault:
            raise CallRefused(400, f"Failed to validate agent::Call: {fault}")
        media = chosen_media(accept)
        if media is None:
            raise CallRefused(406, f"Expecting 'Accept' to allow {_ALLOWED}")
        answer = self._answers.get(call.type)
        if answer is None:
            raise CallRefused(501, "501 Not Implemented.")
        response = agent_pb2.Response(type=_Response.Type.Value(_Call.Type.Name(call.type)))
        try:
            answer(call, response)
        except FileRefused as refused:
            raise CallRefused(refused.status, refused.text) from refused
        return media, encode(response, media)

    def _get_health(self, call: agent_pb2.Call, response: agent_pb2.Response) -> None:
        response.get_health.healthy = True

    def _get_flags(self, call: agent_pb2.Call, response: agent_pb2.Response) -> None:
        for name, value in flag_texts(self._view.flags).items():
            response.get_flags.flags.add(name=name, value=value)

    def _get_version(self, call: agent_pb2.Call, response: agent_pb2.Response) -> None:
        response.get_version.version_info.CopyFrom(version_info())

    def _get_metrics(self, call: agent_pb2.Call, response: agent_pb2.Response) -> None:
        for name, value in sorted(metrics(self._view).items()):
            response.get_metrics.metrics.add(name=name, value=value)

    def _get_frameworks(self, call: agent_pb2.Call, response: agent_pb2.Response) -> None:
        self._fill_frameworks(response.get_frameworks)

    def _get_tasks(self, call: agent_pb2.Call, response: agent_pb2.Response) -> None:
        self._fill_tasks(response.get_tasks)

    def _get_state(self, call: agent_pb2.Call, response: agent_pb2.Response) -> None:
        self._fill_frameworks(response.get_state.get_frameworks)
        self._fill_tasks(response.get_state.get_tasks)

    def _fill_frameworks(self, found: agent_pb2.Response.GetFrameworks) -> None:
        found.SetInParent()
        for framework in self._view.core.frameworks.values():
            found.frameworks.add().framework_info.CopyFrom(framework.info)
        for framework in self._view.core.completed_frameworks:
            found.completed_frameworks.add().framework_info.CopyFrom(framework.info)

    def _fill_tasks(self, found: agent_pb2.Response.GetTasks) -> None:
        found.SetInParent()
        for record in self._view.core.tasks():
            kind = found.terminated_tasks if record.has_ended else found.launched_tasks
            kind.add().CopyFrom(record.task)
        frameworks = [*self._view.core.frameworks.values(), *self._view.core.completed_frameworks]
        for framework in frameworks:
            for executor in [*framework.executors.values(), *framework.completed]:
                found.completed_tasks.extend(record.task for record in executor.completed)

    def _get_agent(self, call: agent_pb2.Call, response: agent_pb2.Response) -> None:
        info = response.get_agent.agent_info
        info.CopyFrom(self._view.identity.described(self._view.agent_id))
        info.ClearField("checkpoint")  # not in v1

    def _list_files(self, call: agent_pb2.Call, response: agent_pb2.Response) -> None:
        response.list_files.SetInParent()
        response.list_files.file_infos.extend(map(_file_info, self._files.list(call.list_files.path)))

    def _read_file(self, call: agent_pb2.Call, response: agent_pb2.Response) -> None:
        wanted = call.read_file
        length = wanted.length if wanted.HasField("length") else None
        size, data = self._files.read(wanted.path, wanted.offset, length)
        response.read_file.size = size
        response.read_file.data = data


def _parse(content_type: str | None, body: bytes) -> agent_pb2.Call:
    if content_type is None:
        raise CallRefused(400, "Expecting 'Content-Type' to be present")
    if content_type not in (JSON, PROTOBUF):
        raise CallRefused(415, f"Expecting 'Content-Type' of {_ALLOWED}")
    try:
        return read_call(_Call, content_type, body)
    except BadBody as error:
        raise CallRefused(400, str(error)) from error


def _fault(call: agent_pb2.Call) -> str | None:
    """What a call lacks: a type, or the message of the same name if there is one."""
    if not call.HasField("type"):
        return "Expecting 'type' to be present"
    name = _Call.Type.Name(call.type).lower()
    if name in _Call.DESCRIPTOR.fields_by_name and name != "get_containers" and not call.HasField(name):  # type: ignore[arg-type]
        return f"Expecting '{name}' to be present"
    return None


def _file_info(entry: FileEntry) -> mesos_pb2.FileInfo:
    status = entry.status
    info = mesos_pb2.FileInfo(
        path=entry.path,
        nlink=status.st_nlink,
        size=status.st_size,
        mode=status.st_mode,
        uid=entry.user,
        gid=entry.group,
    )
    info.mtime.nanoseconds = status.st_mtime_ns
    return info
