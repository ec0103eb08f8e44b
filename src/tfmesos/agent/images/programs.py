"""Runs skopeo, umoci and cp."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tfmesos.agent.errands import end_of, how_it_ended
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.images.errors import printable
from tfmesos.supervision import SEARCH_PATH, ProcessSpec, SupervisionError, Supervisors

_PASSED_ON = frozenset(
    name
    for upper in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
    for name in (upper, upper.lower())
)
"""Of the agent's environment: how this machine reaches registries."""
_PACKAGES = {"skopeo": "skopeo", "umoci": "umoci"}
_POLICY = Path("/etc/containers/policy.json")
_MAX_OUTPUT = 8 * 1024**2
"""Registries take manifests up to 4 MiB."""
_MAX_REPORT = 64 * 1024
_FATAL = re.compile(r'level=(?:fatal|error) msg=("(?:[^"\\]|\\.)*"|\S+)')
_MARK = re.compile(r"^\s*⨯\s*")
_WRAPPING = re.compile(r'^(?:Error parsing image name|initializing source|trying to reuse blob) "?[^ ]+"?: ')


class ProgramFailed(Exception):
    """A program has not done what it was to do; the text says why."""


class Programs:
    """The programs that images need, found once."""

    def __init__(self, supervisors: Supervisors, environment: Mapping[str, str]) -> None:
        """`environment`: the agent's own."""
        self._supervisors = supervisors
        passed_on = {name: value for name, value in environment.items() if name in _PASSED_ON}
        self._policy = () if _POLICY.exists() else ("--insecure-policy",)
        self._environment = {"PATH": environment.get("PATH", SEARCH_PATH), "LC_ALL": "C.UTF-8", **passed_on}

    def check(self) -> None:
        """Raises BadAgentFlags, with the package of what is missing."""
        for program, package in _PACKAGES.items():
            if shutil.which(program, path=self._environment["PATH"]) is None:
                raise BadAgentFlags(
                    f"--image_providers: {program} is not installed (on Debian: apt-get install {package})"
                )

    async def skopeo(self, *words: str, secret: str | None = None) -> bytes:
        """What it prints. `secret`: the content of the file whose name it gets with --authfile.

        The file has no name but the one in /proc of this process, and is gone with it.
        """
        command, *arguments = words
        if secret is None:
            return await self.run("skopeo", *self._policy, command, *arguments)
        with _memory_file(secret.encode()) as path:
            return await self.run("skopeo", *self._policy, command, "--authfile", path, *arguments)

    async def run(self, *argv: str) -> bytes:
        """What a program prints. Raises ProgramFailed. Who cancels this ends the program first."""
        with _memory_file() as output, _memory_file() as report:
            spec = ProcessSpec(
                id=f"{argv[0]} for images",
                argv=argv,
                environment=self._environment,
                directory="/",
                stdout=output,
                stderr=report,
            )
            try:
                end = await end_of(self._supervisors, spec)
            except SupervisionError as error:
                raise ProgramFailed(str(error)) from error
            if end.wait_status != 0:
                raise ProgramFailed(_reason(_read(report, _MAX_REPORT)) or f"{argv[0]} {how_it_ended(end)}")
            return _read(output, _MAX_OUTPUT)


@contextmanager
def _memory_file(content: bytes = b"") -> Iterator[str]:
    """A file that nobody but this process' user can open, and that is gone with this process."""
    descriptor = os.memfd_create("images")
    try:
        os.write(descriptor, content)
        yield f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _read(path: str, limit: int) -> bytes:
    with open(path, "rb") as file:
        return file.read(limit)


def _reason(report: bytes) -> str:
    """The last line of what skopeo or umoci said, without what is not for people."""
    text = report.decode(errors="replace")
    lines = _messages(text) or [line for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    return printable(_WRAPPING.sub("", _MARK.sub("", lines[-1])))


def _messages(text: str) -> Sequence[str]:
    """Of the lines that logrus writes: `time=… level=fatal msg="…"`."""
    return [_unquoted(found) for found in _FATAL.findall(text)]


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:  # Go quotes some characters otherwise
        return text[1:-1].replace('\\"', '"')
