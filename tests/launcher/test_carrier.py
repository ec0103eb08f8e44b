"""The carrier, run as a task runs it."""

import json
import os
import pwd
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tfmesos.launcher import carrier

SOURCE = Path(carrier.__file__).read_text("utf-8")
PLAIN: dict[str, object] = {
    "agent": "agent-7",
    "directory": None,
    "paths": [],
    "user": None,
    "port": None,
    "gpus": 0,
    "defaults": {},
    "initializer": None,
    "finalizer": None,
    "command": ["true"],
    "python": None,
    "server": None,
}


def start(environment: Mapping[str, str] | None = None, **changes: object) -> "subprocess.Popen[bytes]":
    description = {**PLAIN, **changes}
    return subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", SOURCE],
        env={"PATH": os.environ["PATH"], **(environment or {}), **carrier.pack(description)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(environment: Mapping[str, str] | None = None, **changes: object) -> tuple[int, str, str]:
    process = start(environment, **changes)
    out, err = process.communicate(timeout=30)
    return process.returncode, out.decode(), err.decode()


ECHO = [sys.executable, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))"]


def test_arguments_reach_the_program_byte_for_byte() -> None:
    given = ["a b", "", "*", "$HOME", "it's", "x\ny", "; echo hi", "é", '{"lr":0.1}']

    status, out, _ = run(command=[*ECHO, *given])

    assert (status, json.loads(out)) == (0, given)


def test_the_environment_is_what_was_given_and_no_more() -> None:
    status, out, _ = run({"A": "é", "SET": "mine"}, defaults={"SET": "ours", "NEW": "ü=\n1"}, command=["env", "-0"])

    found = dict(entry.split("=", 1) for entry in out.split("\0") if entry)
    assert status == 0
    assert found == {"PATH": os.environ["PATH"], "A": "é", "SET": "mine", "NEW": "ü=\n1"}


def test_modules_of_the_users_directory_are_not_imported(tmp_path: Path) -> None:
    for name in ("socket", "random", "json", "subprocess"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)")

    assert run(directory=str(tmp_path), initializer="true", port=1, command=["true"])[0] == 0


def test_it_starts_where_the_launcher_was(tmp_path: Path) -> None:
    place = tmp_path / "é x"
    place.mkdir()

    assert run(directory=str(place), command=["pwd"])[:2] == (0, f"{place}\n")


def test_a_missing_directory_is_named_with_the_agent() -> None:
    status, _, err = run(directory="/no/where")

    assert status == carrier.NO_DIRECTORY
    assert err == (
        "tfmesos: cannot enter the working directory /no/where on agent agent-7: No such file or directory\n"
    )


def test_a_missing_volume_is_named() -> None:
    assert "the volume /no/where does not exist on agent agent-7" in run(paths=["/no/where"])[2]


def identity(environment: Mapping[str, str], user: str = "ann") -> dict[str, str]:
    status, out, err = run(environment, user=user, command=["env", "-0"])
    assert (status, err) == (0, "")
    return dict(entry.split("=", 1) for entry in out.split("\0") if entry)


def test_in_an_image_a_task_has_a_name_and_a_home() -> None:
    me = pwd.getpwuid(os.getuid())

    found = identity({"MESOS_SANDBOX": "/mnt/mesos/sandbox"})

    assert (found["USER"], found["HOME"]) == (me.pw_name, me.pw_dir)


def test_in_an_image_what_it_or_the_user_says_of_name_and_home_stands() -> None:
    found = identity({"USER": "bob", "HOME": "/no/such/home"})

    assert (found["USER"], found["HOME"]) == ("bob", "/no/such/home")


def test_a_uid_that_the_image_does_not_know_has_its_home_in_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    monkeypatch.setenv("HOME", "/")
    monkeypatch.delenv("USER", raising=False)
    monkeypatch.setenv("MESOS_SANDBOX", "/mnt/mesos/sandbox")

    carrier.be_somebody("ann")

    assert (os.environ["USER"], os.environ["HOME"]) == ("ann", "/mnt/mesos/sandbox")


def test_a_description_of_many_entries_arrives_whole() -> None:
    noise = os.urandom(300_000).hex()

    packed = carrier.pack({"noise": noise})

    assert len(packed) > 1
    assert max(map(len, packed.values())) < 128 * 1024
    assert carrier.unpack(dict(packed)) == {"noise": noise}


def test_the_program_replaces_the_carrier() -> None:
    process = start(command=["sh", "-c", "echo $$; exec sleep 100"])
    assert process.stdout is not None
    assert process.stdout is not None
    assert int(process.stdout.readline()) == process.pid
    process.kill()
    process.communicate()


def test_signals_that_python_ignores_are_restored() -> None:
    status, out, _ = run(command=["grep", "SigIgn", "/proc/self/status"])

    assert status == 0
    assert int(out.split()[1], 16) & (1 << (signal.SIGPIPE - 1)) == 0


@pytest.mark.parametrize(("command", "status"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_what_cannot_be_run_is_named(command: str, status: int) -> None:
    code, _, err = run(command=[command])

    assert code == status
    assert f"cannot run {command}" in err


def test_a_command_whose_first_word_is_replaced_by_nothing() -> None:
    status, _, err = run(command=["", "x"])

    assert status == 127
    assert err == "tfmesos: cannot run the command: its first word is empty\n"


def test_a_taken_port_has_its_own_status() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        status, _, err = run(port=port)

    assert status == carrier.PORT_TAKEN
    assert f"port {port} is taken" in err


def test_a_held_port_is_free_for_the_task() -> None:
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("", 0))

        assert run(port=holder.getsockname()[1])[0] == 0


def test_initializer_command_finalizer_run_in_order() -> None:
    status, out, _ = run(initializer="echo one", command=["sh", "-c", "echo two; exit 3"], finalizer="echo three")

    assert (status, out) == (3, "one\ntwo\nthree\n")


def test_a_failing_initializer_is_the_tasks_failure() -> None:
    status, out, err = run(initializer="exit 4", command=["echo", "never"])

    assert (status, out) == (4, "")
    assert "the initializer ended with status 4" in err


def test_the_finalizer_runs_after_sigterm_and_the_end_is_the_signal() -> None:
    process = start(command=["sh", "-c", "echo up; exec sleep 100"], finalizer="echo cleaned")
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)

    assert out == b"cleaned\n"
    assert process.returncode == -signal.SIGTERM


def test_a_task_without_gpus_needs_none() -> None:
    assert run({"CUDA_VISIBLE_DEVICES": ""}, gpus=0) == (0, "", "")


def test_promised_gpus_that_are_not_there_fail_the_task_before_any_code_of_the_user() -> None:
    status, out, err = run({"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b"}, gpus=2, initializer="echo initializer")

    assert (status, out) == (carrier.NO_GPUS, "")
    assert err == (
        "tfmesos: 2 gpus were promised on agent agent-7, but 0 can be used: "
        "0 of /dev/nvidia* open, CUDA_VISIBLE_DEVICES is 'GPU-a,GPU-b'\n"
    )


@pytest.mark.parametrize(
    ("shown", "number"),
    [("", 0), ("-1", 0), ("NoDevFiles", 0), ("0", 1), ("0, 1", 2), ("0,-1,1", 1), ("1,1", 1), ("GPU-a,MIG-b/1/0", 2)],
)
def test_what_cuda_takes_for_a_gpu(shown: str, number: int) -> None:
    assert carrier.shown_gpus(shown) == number


def test_cards_are_counted_by_the_nodes_that_open(tmp_path: Path) -> None:
    lay_out(tmp_path, "nvidia0", "nvidia12", "nvidiactl", "nvidia-uvm", closed=["nvidia1"])

    assert carrier.open_gpus(str(tmp_path)) == 2


def test_a_card_in_mig_mode_counts_as_its_instances_that_open(tmp_path: Path) -> None:
    lay_out(
        tmp_path,
        *("nvidia0", "nvidia1", "nvidia-caps/nvidia-cap1"),
        *(f"nvidia-caps/nvidia-cap{minor}" for minor in (12, 13, 21, 22)),
        closed=["nvidia-caps/nvidia-cap31", "nvidia-caps/nvidia-cap32"],
    )
    instances = [("gi1", 12, 13), ("gi2", 21, 22), ("gi3", 31, 32)]
    lines = [f"gpu1/{gi}/access {whole}\ngpu1/{gi}/ci0/access {part}\n" for gi, whole, part in instances]
    (tmp_path / "proc/driver/nvidia-caps/mig-minors").write_text("config 1\nmonitor 2\n\n" + "".join(lines))

    assert carrier.open_gpus(str(tmp_path)) == 1 + 2


def lay_out(root: Path, *opened: str, closed: list[str]) -> None:
    """Files stand for nodes that open, dangling links for nodes that do not."""
    for directory in ("dev/nvidia-caps", "proc/driver/nvidia-caps"):
        (root / directory).mkdir(parents=True)
    for name in opened:
        (root / "dev" / name).touch()
    for name in closed:
        (root / "dev" / name).symlink_to("nowhere")


def test_the_carrier_starts_quickly() -> None:
    assert not {"typing", "contextlib", "subprocess", "socket"} & set(_imports())


def _imports() -> list[str]:
    lines = SOURCE.splitlines()
    return [line.split()[1] for line in lines if line.startswith(("import ", "from "))]


def test_nothing_newer_than_python_3_6_is_used() -> None:
    import ast

    ast.parse(SOURCE, feature_version=(3, 6))
