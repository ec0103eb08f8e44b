"""Logs that do not grow for ever."""

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.supervision import LogLimit, ProcessSpec, Supervisors, Termination
from tfmesos.supervision._log import LogFile

BuildSpec = Callable[..., ProcessSpec]


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.glob("stdout*")}


async def test_the_newest_output_is_kept_in_whole_lines(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    # given a program that writes a hundred lines of ten bytes
    (tmp_path / "stdout").write_bytes(b"before\n")
    script = "i=0; while [ $i -lt 100 ]; do printf 'line %04d\\n' $i; i=$((i + 1)); done; echo error >&2"
    spec = replace(build_spec("sh", "-c", script), log_limit=LogLimit(max_bytes=95, max_files=2))
    child = await supervisors.launch(spec)
    await child.release()
    assert await child.wait() == Termination(wait_status=0, killed=False)
    # then there are three files, none larger than allowed, with its last lines
    kept = files(tmp_path)
    assert sorted(kept) == ["stdout", "stdout.1", "stdout.2"]
    assert all(len(content) <= 95 and content.endswith(b"\n") for content in kept.values())
    together = kept["stdout.2"] + kept["stdout.1"] + kept["stdout"]
    lines = together.splitlines()
    assert lines == [b"line %04d" % number for number in range(100 - len(lines), 100)]
    assert (tmp_path / "stderr").read_bytes() == b"error\n"


async def test_a_program_with_two_names_for_one_file(
    supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path
) -> None:
    spec = replace(build_spec("sh", "-c", "echo out; sleep 0.05; echo err >&2"), stderr=str(tmp_path / "stdout"))
    child = await supervisors.launch(replace(spec, log_limit=LogLimit(max_bytes=6, max_files=1)))
    await child.release()
    await child.wait()
    assert files(tmp_path) == {"stdout.1": b"out\n", "stdout": b"err\n"}


async def test_much_output_holds_nothing_up(supervisors: Supervisors, build_spec: BuildSpec, tmp_path: Path) -> None:
    script = "import sys\nfor _ in range(160): sys.stdout.write('x' * 65535 + '\\n')"
    spec = replace(
        build_spec(sys.executable, "-I", "-S", "-c", script), log_limit=LogLimit(max_bytes=1 << 20, max_files=1)
    )
    child = await supervisors.launch(spec)
    await child.release()
    async with asyncio.timeout(20):
        assert (await child.wait()).wait_status == 0
    assert {name: len(content) for name, content in files(tmp_path).items()} == {"stdout": 1 << 20, "stdout.1": 1 << 20}


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_the_files_are_the_users_and_go_nowhere_else(supervisors: Supervisors, build_spec: BuildSpec) -> None:
    # given a sandbox of user 12345, and a file that only root may write
    sandbox = Path("/tmp") / f"tfmesos-log-{os.getpid()}"
    sandbox.mkdir()
    os.chown(sandbox, 12345, 12345)
    (sandbox / "roots").write_text("precious\n")
    try:
        spec = replace(
            build_spec("sh", "-c", "rm stdout; ln -s roots stdout; echo 12345678; echo 1234; sleep 0.1; echo 567"),
            directory=str(sandbox), stdout=f"{sandbox}/stdout", stderr=f"{sandbox}/stderr", uid=12345, gid=12345,
            log_limit=LogLimit(max_bytes=10, max_files=1),
        )  # fmt: skip
        # when the program puts a link to that one in the place of its log
        child = await supervisors.launch(spec)
        await child.release()
        assert (await child.wait()).wait_status == 0
        # then nothing is written there
        assert (sandbox / "roots").read_text() == "precious\n"
        assert (sandbox / "stdout").stat().st_uid == 12345
    finally:
        for file in sandbox.iterdir():
            file.unlink()
        sandbox.rmdir()


@given(
    pieces=st.lists(st.binary(max_size=40) | st.just(b"line\n") | st.just(b"\n")),
    max_bytes=st.integers(1, 30),
    max_files=st.integers(0, 3),
)
def test_files_are_never_too_large_and_nothing_in_between_is_lost(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], max_bytes: int, max_files: int
) -> None:
    directory = tmp_path_factory.getbasetemp() / "logs"
    directory.mkdir(exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    log = LogFile(os.fsencode(directory / "stdout"), (max_bytes, max_files), nullcontext)
    for piece in pieces:
        log.write(piece)
    log.close()
    kept = files(directory)
    assert all(len(content) <= max_bytes for content in kept.values())
    assert len(kept) <= max_files + 1
    together = b"".join(kept[name] for name in sorted(kept, key=lambda name: -int(name[7:] or 0)))
    assert b"".join(pieces).endswith(together)


@pytest.mark.parametrize("max_files", [0, 1])
def test_a_log_that_was_taken_away_begins_anew(tmp_path: Path, max_files: int) -> None:
    log = LogFile(os.fsencode(tmp_path / "stdout"), (10, max_files), nullcontext)
    log.write(b"12345678\n")
    (tmp_path / "stdout").unlink()
    log.write(b"87654321\n")
    log.close()
    assert files(tmp_path) == {"stdout": b"87654321\n"}


def test_a_log_that_cannot_be_written_loses_output_and_nothing_else(tmp_path: Path) -> None:
    directory = tmp_path / "gone"
    directory.mkdir()
    log = LogFile(os.fsencode(directory / "stdout"), (10, 1), nullcontext)
    (directory / "stdout").unlink()
    directory.rmdir()
    for _ in range(5):
        log.write(b"12345678\n")
    directory.mkdir()
    log.write(b"12345678\n")
    log.close()
    assert files(directory) == {"stdout": b"12345678\n"}
