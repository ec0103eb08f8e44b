"""tfrun on the embedded cluster, from end to end, with commands that cost nothing."""

import os
import re
import shlex
import signal
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.programs import TFRUN, Workplace, wait_until

SHOW_ARGUMENTS = "import sys; print(ascii(sys.argv[1:]))"
PYTHON = sys.executable
FOREVER = "sleep 1000"
GRACE_S = 3.0


def test_workers_and_servers_know_each_other_and_themselves(workplace: Workplace) -> None:
    shown = "echo $TFMESOS_JOB_NAME $TFMESOS_TASK_INDEX {ps_hosts} {worker_hosts} {job_name} {task_index}"
    script = f"{shown}; test {{job_name}} = worker || exec {FOREVER}"

    result = workplace.run(*TFRUN, "-w", "2", "-s", "1", "--", "sh", "-c", script)

    assert result.status == 0, result
    told = [line for line in result.lines if line.startswith("[worker")]
    assert len(told) == 2
    ps, workers = told[0].split()[3:5]
    assert {line.split(" ", 1)[1] for line in told} == {
        f"worker 0 {ps} {workers} worker 0",
        f"worker 1 {ps} {workers} worker 1",
    }
    assert len(set(workers.split(",")) | {ps}) == 3
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+", address) for address in (*workers.split(","), ps))


def test_without_servers_the_workers_decide(workplace: Workplace) -> None:
    began = time.monotonic()

    result = workplace.run(*TFRUN, "-w", "2", "-s", "0", "--", "sh", "-c", "sleep 1; echo done")

    assert result.status == 0, result
    assert sorted(result.lines) == ["[worker:0] done", "[worker:1] done"]
    assert time.monotonic() - began >= 1


def test_a_failing_worker_fails_the_job_with_its_status(workplace: Workplace) -> None:
    assert workplace.run(*TFRUN, "-w", "2", "-s", "0", "--", "false").status == 1
    assert workplace.run(*TFRUN, "-w", "1", "--", "sh", "-c", "exit 7").status == 7
    assert workplace.run(*TFRUN, "-w", "1", "--", "sh", "-c", "kill -SEGV $$").status == 128 + signal.SIGSEGV


ARGUMENTS = [
    "a b",
    "",
    "*",
    "$HOME",
    "it's",
    "x\ny",
    "; echo hi",
    "é",
    '--cfg {"lr":0.1}',
    "${HOME}",
    "awk '{print $1}'",
    "{} {0}",
    "{{job_name}}",
    "\t\\",
]


def test_every_argument_arrives_byte_for_byte(workplace: Workplace) -> None:
    result = workplace.run(*TFRUN, "-w", "1", "--", PYTHON, "-c", SHOW_ARGUMENTS, *ARGUMENTS)

    expected = [text.replace("{job_name}", "worker") for text in ARGUMENTS]
    assert result.lines == [f"[worker:0] {expected!a}"], result


def test_without_placeholders_nothing_is_replaced(workplace: Workplace) -> None:
    result = workplace.run(*TFRUN, "-w", "1", "--no-placeholders", "--", "echo", "{job_name}")

    assert result.lines == ["[worker:0] {job_name}"]


def test_tasks_start_where_the_user_is_with_the_users_environment(workplace: Workplace) -> None:
    script = 'echo "$PWD|$GIVEN|$SEEN|$PYTHONUNBUFFERED|$TFMESOS_DISTRIBUTED"'

    result = workplace.run(*TFRUN, "-w", "1", "--env", "GIVEN=a=b c", "--", "sh", "-c", script, SEEN="from here")

    assert result.lines == [f"[worker:0] {workplace.home}|a=b c|from here|1|1"], result


def test_a_line_is_shown_as_it_is_printed(workplace: Workplace) -> None:
    script = "import time; print('first'); time.sleep(1000)"
    with workplace.started(*TFRUN, "-w", "1", "--", PYTHON, "-c", script) as program:
        wait_until(lambda: workplace.find("first"), "the task runs")
        program.wait_output("[worker:0] first\n")
        program.signal(signal.SIGINT)
        program.wait()


def test_many_long_lines_arrive_whole(workplace: Workplace) -> None:
    script = "import os\nfor n in range(300): print(os.environ['TFMESOS_TASK_INDEX'] * 5000 + str(n))"

    result = workplace.run(*TFRUN, "-w", "3", "--", PYTHON, "-c", script)

    assert sorted(result.lines) == sorted(
        f"[worker:{index}] {str(index) * 5000}{number}" for index in range(3) for number in range(300)
    )


def test_chosen_workers_are_shown_only(workplace: Workplace) -> None:
    result = workplace.run(
        *TFRUN, "-w", "3", "-s", "1", "--worker-logs", "0,2", "--", "sh", "-c", "echo {job_name}; exit 0"
    )

    assert sorted(result.lines) == ["[worker:0] worker", "[worker:2] worker"]


def test_standard_error_stays_standard_error(workplace: Workplace) -> None:
    result = workplace.run(*TFRUN, "-w", "1", "--", "sh", "-c", "echo out; echo err >&2")

    assert result.lines == ["[worker:0] out"]
    assert "[worker:0] err\n" in result.errors


def test_the_first_failure_is_told_with_its_last_lines_and_log(workplace: Workplace) -> None:
    script = (
        "import os, time\n"
        "if os.environ['TFMESOS_TASK_INDEX'] != '1': time.sleep(1000)\n"
        "time.sleep(0.3)\n"
        "for n in range(30): print('line', n)\n"
        "raise ValueError('the true reason')\n"
    )

    result = workplace.run(*TFRUN, "-w", "3", "-s", "1", "--", PYTHON, "-c", script)

    assert result.status == 1
    told = result.errors[result.errors.index("worker:1 failed") :]
    for text in ("127.0.0.1", "TASK_FAILED", "exit status 1", "ValueError: the true reason", "line 29"):
        assert text in told
    assert "line 5\n" not in told
    assert told.splitlines()[-1] == "  3 other tasks were stopped by us"
    log = next(word for word in told.split() if word.startswith(str(workplace.state)))
    assert Path(log).exists()


def test_servers_are_stopped_when_the_workers_are_done(workplace: Workplace) -> None:
    script = f"test {{job_name}} = worker || exec {FOREVER}"

    assert workplace.run(*TFRUN, "-w", "1", "-s", "2", "--", "sh", "-c", script).status == 0
    assert not workplace.find("1000")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_tasks_and_the_launcher(workplace: Workplace, number: signal.Signals) -> None:
    with workplace.started(*TFRUN, "-w", "2", "-s", "1", "--", "sh", "-c", f"echo up; exec {FOREVER}") as program:
        for task in ("worker:0", "worker:1", "ps:0"):
            program.wait_output(f"[{task}] up\n")

        program.signal(number)

        assert program.wait(10).status == 128 + number
    assert not workplace.find("1000")


def test_a_task_that_ignores_the_end_is_killed_after_its_grace(workplace: Workplace) -> None:
    script = f"trap 'echo asked' TERM; echo up; while :; do {FOREVER}; done"
    with workplace.started(*TFRUN, "-w", "1", "--", "sh", "-c", script) as program:
        program.wait_output("up\n")
        program.signal(signal.SIGINT)

        result = program.wait(15)

    assert result.status == 130
    assert "[worker:0] asked" in result.lines


def logged_at(workplace: Workplace, text: str) -> float:
    """When the embedded cluster first logged a line with this text."""
    (log,) = (workplace.state / "tfmesos" / "runs").glob("*/cluster.log")
    line = next(line for line in log.read_text().splitlines() if text in line)
    return datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f").timestamp()


def test_a_second_signal_does_not_wait_for_the_grace(workplace: Workplace) -> None:
    script = f"trap 'echo asked' TERM; echo up; while :; do {FOREVER} & wait $!; done"
    with workplace.started(*TFRUN, "-w", "1", "--", "sh", "-c", script) as program:
        program.wait_output("up\n")
        program.signal(signal.SIGINT)
        program.wait_output("asked\n")

        program.signal(signal.SIGINT)

        assert program.wait(15).status == 130
    assert logged_at(workplace, "TASK_KILLED") - logged_at(workplace, "kill asked for") < GRACE_S


GRANDCHILD = f"setsid sh -c '{FOREVER} & {FOREVER} &' & sleep 0.2; echo up; {{}}"


@pytest.mark.parametrize("rest", ["exit 0", "exit 3"])
def test_grandchildren_do_not_survive_their_task(workplace: Workplace, rest: str) -> None:
    result = workplace.run(*TFRUN, "-w", "1", "--", "sh", "-c", GRANDCHILD.format(rest))

    assert "[worker:0] up" in result.lines
    assert not workplace.find("1000")


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def parts(workplace: Workplace) -> dict[str, int]:
    """The parts of a running embedded cluster, told by who started whom."""
    (cluster,) = workplace.find("-m tfmesos.local")
    (fork_server,) = children(cluster)
    return {"cluster": cluster, "fork server": fork_server, "supervisor": children(fork_server)[0]}


@pytest.mark.parametrize("name", ["cluster", "fork server", "supervisor"])
def test_the_loss_of_a_part_ends_the_job_and_leaves_nothing(workplace: Workplace, name: str) -> None:
    with workplace.started(*TFRUN, "-w", "2", "-s", "1", "--", "sh", "-c", GRANDCHILD.format(FOREVER)) as program:
        for task in ("worker:0", "worker:1", "ps:0"):
            program.wait_output(f"[{task}] up\n")

        os.kill(parts(workplace)[name], signal.SIGKILL)
        result = program.wait(20)

    assert result.status not in (0, 130)
    workplace.wait_empty()


def test_the_death_of_the_embedded_cluster_is_told(workplace: Workplace) -> None:
    with workplace.started(*TFRUN, "-w", "1", "--", "sh", "-c", f"echo up; exec {FOREVER}") as program:
        program.wait_output("up\n")

        os.kill(parts(workplace)["cluster"], signal.SIGKILL)
        result = program.wait(20)

    assert result.status == 1
    assert re.search(r"the embedded cluster \(process \d+\) was killed by signal 9 \(Killed\)", result.errors)
    assert str(workplace.state) in result.errors
    assert "Traceback" not in result.errors


def test_nothing_is_left_when_the_launcher_is_killed(workplace: Workplace) -> None:
    with workplace.started(*TFRUN, "-w", "2", "-s", "1", "--", "sh", "-c", GRANDCHILD.format(FOREVER)) as program:
        program.wait_output("[worker:0] up\n")
        program.signal(signal.SIGKILL)
        program.wait()

        workplace.wait_empty(10)


LISTEN = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", int(sys.argv[1].rpartition(":")[2])))
print("up")
time.sleep(1000)
"""


def test_a_task_that_ignores_the_end_does_not_survive_a_killed_launcher(workplace: Workplace) -> None:
    script = f"trap '' TERM; echo up; while :; do {FOREVER}; done"
    with workplace.started(*TFRUN, "-w", "1", "--", "sh", "-c", script) as program:
        program.wait_output("up\n")
        program.signal(signal.SIGKILL)
        program.wait()

        workplace.wait_empty(10)


def test_ctrl_c_while_the_cluster_starts(workplace: Workplace) -> None:
    with workplace.started(*TFRUN, "-w", "1", "--", "sh", "-c", FOREVER) as program:
        wait_until(lambda: workplace.find("-m tfmesos.local"), "the embedded cluster starts")

        program.signal(signal.SIGINT)
        result = program.wait(10)

    assert result.status == 130
    assert "Traceback" not in result.errors


def test_worker_0_in_the_foreground(workplace: Workplace) -> None:
    script = "test {task_index} = 0 && cat; echo {job_name} {task_index} {worker_hosts}"
    command = shlex.join([*TFRUN, "-w", "2", "--local-worker", "--", "sh", "-c", script])

    result = workplace.run("sh", "-c", f"echo typed | {command}")

    assert result.status == 0, result
    mine = [line for line in result.lines if not line.startswith("[")]
    assert mine[0] == "typed"
    assert mine[1].startswith("worker 0 ")
    assert [line.split()[1:3] for line in result.lines if line.startswith("[worker:1]")] == [["worker", "1"]]


def test_two_runs_at_once_do_not_meet(workplace: Workplace) -> None:
    command = (*TFRUN, "-w", "1", "--", PYTHON, "-c", LISTEN, "{worker_hosts}")
    with workplace.started(*command) as one, workplace.started(*command) as other:
        for program in (one, other):
            program.wait_output("[worker:0] up\n")
        for program in (one, other):
            program.signal(signal.SIGTERM)
        for program in (one, other):
            assert program.wait(15).status == 143


def test_a_reader_that_goes_away_ends_the_job_quietly(workplace: Workplace) -> None:
    command = shlex.join([*TFRUN, "-w", "1", "--", "sh", "-c", "while :; do echo line; sleep 0.05; done"])

    result = workplace.run("bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}")

    assert result.status == 128 + signal.SIGPIPE
    assert result.lines == ["[worker:0] line"]
    assert "Traceback" not in result.errors


def test_a_closed_standard_output_is_no_error(workplace: Workplace) -> None:
    command = shlex.join([*TFRUN, "-w", "1", "--", "sh", "-c", "for n in 1 2 3 4 5; do echo line; sleep 0.1; done"])

    assert workplace.run("sh", "-c", f"{command} <&- >&- 2>&-").status == 0


def test_a_time_limit_ends_the_job(workplace: Workplace) -> None:
    result = workplace.run(*TFRUN, "-w", "1", "--time-limit", "1", "--", *FOREVER.split())

    assert result.status == 124


def test_initializer_and_finalizer_run_around_each_task(workplace: Workplace) -> None:
    (workplace.home / "extra.json").write_text('{"initializer": "echo before", "finalizer": "echo after"}')

    result = workplace.run(*TFRUN, "-w", "1", "-e", "extra.json", "--", "echo", "in")

    assert result.lines == ["[worker:0] before", "[worker:0] in", "[worker:0] after"], result


def test_a_volume_that_is_there_needs_nothing(workplace: Workplace) -> None:
    assert workplace.run(*TFRUN, "-w", "1", "-V", f"{workplace.home}:{workplace.home}", "--", "true").status == 0


def test_the_last_runs_are_kept_with_their_sandboxes(workplace: Workplace) -> None:
    workplace.run(*TFRUN, "-w", "1", "--", "echo", "kept")

    (run,) = (workplace.state / "tfmesos" / "runs").iterdir()
    assert [path.read_text() for path in run.rglob("runs/latest/stdout")] or [
        path.read_text() for path in run.rglob("stdout")
    ] == ["kept\n"]


def test_a_dry_run_prints_and_starts_nothing(workplace: Workplace) -> None:
    result = workplace.run(*TFRUN, "-w", "1", "-s", "1", "-Cw", "2", "--dry-run", "--", "echo", "a b", "{job_name}")

    assert result.status == 0, result
    assert "a b" in result.output
    assert "worker:0" in result.output
    assert "ps:0" in result.output
    assert "cpus:2" in result.output
    assert not list(workplace.state.iterdir())


def test_a_dry_run_tells_what_the_tasks_would_run_in(workplace: Workplace) -> None:
    result = workplace.run(
        *TFRUN, "-C", "docker", "--image", "tf:1", "-V", "/data:/mnt:ro", "--shm", "2g",
        "-w", "2", "--local-worker", "--dry-run", "true",
    )  # fmt: skip

    here, elsewhere = result.output.split("worker:1\n")
    assert "image:" not in here
    assert "\n  image: tf:1 (docker)\n  volume: /data:/mnt:ro\n  /dev/shm: 2048 MB\n" in elsewhere


def test_the_version(workplace: Workplace) -> None:
    result = workplace.run(*TFRUN, "--version")

    assert re.fullmatch(r"tfrun \d+\.\d+\.\d+\S*\n", result.output)


def test_a_python_file_in_the_users_directory_does_not_stand_in_for_a_module(workplace: Workplace) -> None:
    for name in ("random.py", "asyncio.py", "socket.py"):
        (workplace.home / name).write_text("raise SystemExit('the wrong module')\n")

    program = str(Path(PYTHON).with_name("tfrun"))
    assert workplace.run(program, "-w", "1", "--", "true").status == 0
