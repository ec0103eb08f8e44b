"""The command line of tfrun: every form of 0.0.10, and one clear line for what is wrong."""

import pytest

from tfmesos.cli.run.grammar import UsageError
from tfmesos.cli.run.options import TfrunOptions, help_text, load_options
from tfmesos.cli.run.values import parse_time

OLD = """-w 3 -s 2 -m h:5050 -n name -C DOCKER -f -Cw 2 -Gw 1 -Mw 512 -Cs 0.5 -Gs 0 -Ms 256 -v
    -V /a -V /b:/c:ro -r role -e extra.json --worker-logs 0,2 -- cmd"""
NEW = """-w 1 --local-worker --image i --shm 2g --tensorboard logs --env A=b --env C=d=e --time-limit 2m
    --fail-fast --no-placeholders --checkpoint --dry-run c"""


def load(*words: str) -> TfrunOptions:
    return load_options(words)


@pytest.mark.parametrize(
    "words",
    [
        ("-w", "2", "-s", "1", "--", "python", "x.py"),
        ("-w2", "-s1", "python", "x.py"),
        ("-w=2", "-s=1", "python", "x.py"),
        ("--nworker", "2", "--nserver", "1", "--", "python", "x.py"),
        ("--nworker=2", "--nserver=1", "python", "x.py"),
    ],
)
def test_the_forms_of_an_option_mean_the_same(words: tuple[str, ...]) -> None:
    options = load(*words)

    assert (options.nworker, options.nserver, options.command) == (2, 1, ("python", "x.py"))


def test_every_option_of_0_0_10() -> None:
    options = load(*OLD.split())

    assert options == TfrunOptions(
        nworker=3,
        nserver=2,
        master="h:5050",
        name="name",
        containerizer_type="DOCKER",
        force_pull_image=True,
        worker_cpus=2.0,
        worker_gpus=1,
        worker_mem=512.0,
        server_cpus=0.5,
        server_gpus=0,
        server_mem=256.0,
        verbose=True,
        volume=("/a", "/b:/c:ro"),
        role="role",
        extra_config="extra.json",
        worker_logs=(0, 2),
        command=("cmd",),
    )


def test_long_names_with_an_underscore_or_a_dash_are_one() -> None:
    long = ("--containerizer_type", "MESOS", "--force_pull_image", "--extra_config", "f")

    assert load("-w1", *long, "c") == load("-w1", *(word.replace("_", "-") for word in long), "c")


def test_switches_may_share_a_word_and_short_names_hold_their_value() -> None:
    options = load("-fvw2", "-Cw1.5", "-CMESOS", "c")

    assert (options.force_pull_image, options.verbose, options.nworker) == (True, True, 2)
    assert (options.worker_cpus, options.containerizer_type) == (1.5, "MESOS")


@pytest.mark.parametrize("separator", [(), ("--",)])
def test_what_follows_the_command_belongs_to_it(separator: tuple[str, ...]) -> None:
    command = ("python", "-c", "x", "-w", "9", "--help", "--", "-V", "{a}", "", " ")

    assert load("-w", "1", *separator, *command).command == command


def test_a_command_may_begin_with_a_dash_after_the_separator() -> None:
    assert load("-w", "1", "--", "-x", "--").command == ("-x", "--")


def test_the_new_options() -> None:
    options = load(*NEW.split())

    assert (options.local_worker, options.image, options.shm, options.time_limit_s) == (True, "i", "2g", 120.0)
    assert options.tensorboard == "logs"
    assert options.env == (("A", "b"), ("C", "d=e"))
    assert (options.fail_fast, options.no_placeholders, options.dry_run) == (True, True, True)
    assert options.checkpoint


def test_all_logs_are_shown_unless_told_otherwise() -> None:
    assert load("-w", "1", "c").worker_logs is None
    assert load("-w", "1", "--worker-logs", "*", "c").worker_logs is None


def test_whole_gpus_may_be_written_with_a_fraction() -> None:
    assert load("-w", "1", "-Gw", "1.0", "c").worker_gpus == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-w", "1"), "the command is missing: tfrun -w N"),
        (("-w", "1", "--"), "the command is missing: tfrun -w N"),
        (("-w", "1", ""), "the command is missing: tfrun -w N"),
        (("c",), "-w is missing: number of workers"),
        (("-w",), "-w needs a value: -w N"),
        (("-w", "--", "c"), "-w needs a value: -w N"),
        (("-w", "x", "c"), "-w x: a whole number is needed"),
        (("-w", "1.5", "c"), "-w 1.5: a whole number is needed"),
        (("-w", "-1", "c"), "-w -1: it cannot be negative"),
        (("-w", "", "c"), "-w '': a whole number is needed"),
        (("-w", "0", "-s", "0", "c"), "a job with no tasks: -w and -s are both 0"),
        (("-w", "1", "--nserve", "1", "c"), "unknown option '--nserve'; did you mean --nserver?"),
        (("-w", "1", "--worker_cpu", "1", "c"), "unknown option '--worker_cpu'; did you mean --worker-cpus?"),
        (("-w", "1", "--docker_image", "i", "c"), "unknown option '--docker_image'; did you mean --image?"),
        (("-w", "1", "-x", "c"), "unknown option '-x'"),
        (("-w", "1", "-Gw", "0.5", "c"), "-Gw 0.5: a card cannot be shared: give a whole number"),
        (("-w", "1", "-Gw", "-1", "c"), "-Gw -1: it cannot be negative"),
        (("-w", "1", "-Cw", "-1", "c"), "-Cw -1: it cannot be negative"),
        (("-w", "1", "-Mw", "nan", "c"), "-Mw nan: a finite number is needed"),
        (("-w", "1", "-Mw", "1GB", "c"), "-Mw 1GB: a number is needed"),
        (("-w", "1", "-f=yes", "c"), "-f takes no value, but 'yes' was given"),
        (("-w", "1", "--env", "NAME", "c"), "--env NAME: NAME=VALUE is needed"),
        (("-w", "1", "--env", "=v", "c"), "--env =v: NAME=VALUE is needed"),
        (("-w", "1", "--time-limit", "soon", "c"), "--time-limit soon: a time is needed, as 90, 90s, 10m, 2h or 1d"),
        (("-w", "1", "--time-limit", "0", "c"), "--time-limit 0: it must be more than 0"),
        (
            ("-w", "1", "--worker-logs", "a", "c"),
            "--worker-logs a: indices of workers are needed, as 0,2, or * for all",
        ),
        (("-w", "2", "--worker-logs", "2", "c"), "--worker-logs 2: the last worker is 1"),
        (("-w", "0", "-s", "1", "--local-worker", "c"), "--local-worker needs a worker: -w is 0"),
        (("-w", "1", "c", "\udcff"), r"argument 4 is not UTF-8, and Mesos carries UTF-8 only: '\udcff'"),
    ],
)
def test_wrong_usage_is_told_in_one_line(words: tuple[str, ...], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(*words)

    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status == 2


def test_nothing_is_suggested_where_only_the_dashes_are_alike() -> None:
    with pytest.raises(UsageError, match=r"^unknown option '--nope'$"):
        load("-w", "1", "--nope", "c")


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("-w", "x", "--nonsense", "-h"), ("-w", "1", "--help", "c")])
def test_help_wins_over_what_is_wrong(words: tuple[str, ...]) -> None:
    assert load(*words).help


def test_a_value_is_not_taken_for_help() -> None:
    assert load("-w", "1", "-n", "--help", "c").name == "--help"


def test_the_help_shows_every_option_and_the_exit_statuses() -> None:
    text = help_text()

    for name in (
        "-w, --nworker N",
        "--containerizer_type",
        "--shm SIZE",
        "-V, --volume SRC[:DST[:ro|rw]]",
        "--self-test",
        "69",
        "130",
    ):
        assert name in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86400), ("10mins", 600)],
)
def test_times(text: str, seconds: float) -> None:
    assert parse_time(text) == seconds
