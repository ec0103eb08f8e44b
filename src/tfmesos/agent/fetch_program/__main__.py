"""Fetch one URI after the other into the current directory. Standard output is the agent's: why that failed.

Starts with the agent's rights and gives them up when all modules are loaded: the task's user may not be able to read
them. Nothing that is a user's is touched before.
"""

from __future__ import annotations

import bz2  # noqa: F401  # what others load on first use only
import contextlib
import encodings.idna
import encodings.punycode  # noqa: F401
import lzma  # noqa: F401
import os
import resource
import sys

from tfmesos.agent.fetch_program.archives import extract_archive, extractor_of
from tfmesos.agent.fetch_program.errors import FetchError
from tfmesos.agent.fetch_program.job import Item, Job
from tfmesos.agent.fetch_program.places import Place
from tfmesos.agent.fetch_program.sources import write_source
from tfmesos.agent.fetch_program.uris import shown

_MEMORY = 2 * 1024**3
"""An archive can say that it has headers of any size."""


def main() -> int:
    """The exit status."""
    job = Job.from_environment(os.environ)
    _become(job)
    _open_log(job.log)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY if hard == resource.RLIM_INFINITY else min(hard, _MEMORY), hard))
    place = Place(".")
    for item in job.items:
        try:
            _fetch(item, job, place)
        except (FetchError, OSError) as error:
            reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
            _fail(f"Failed to fetch '{shown(item.uri)}': {reason}")
            return 1
    return 0


def _become(job: Job) -> None:
    if job.gid is not None:
        os.setgroups(job.groups)
        os.setresgid(job.gid, job.gid, job.gid)
    if job.uid is not None:
        os.setresuid(job.uid, job.uid, job.uid)


def _open_log(path: str) -> None:
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    os.dup2(log, sys.stderr.fileno())
    os.close(log)


def _fetch(item: Item, job: Job, place: Place) -> None:
    _say(f"Fetching '{shown(item.uri)}'")
    write_source(item, job, place)
    place.check_links()
    if item.is_executable:
        os.chmod(item.name, 0o755, follow_symlinks=True)
    elif item.is_extracted:
        extract = extractor_of(item.name)
        if extract is None:
            _say(f"Not extracted, because it is no archive: '{item.name}'")
        else:
            extract_archive(extract, item.name, item.name, place)
            _say(f"Extracted '{item.name}'")
    _say(f"Fetched '{shown(item.uri)}' to '{os.path.abspath(item.name)}'")


def _say(line: str) -> None:
    _write(sys.stderr.fileno(), line)


def _fail(line: str) -> None:
    _say(line)
    _write(sys.stdout.fileno(), line)


def _write(descriptor: int, line: str) -> None:
    with contextlib.suppress(OSError):  # a full disk is told by what could not be written there
        os.write(descriptor, f"{line}\n".encode("utf-8", "surrogateescape"))


if __name__ == "__main__":
    sys.exit(main())
