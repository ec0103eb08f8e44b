"""The options of `tfrun`: every one of TFMesos 0.0.10, and the new ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfmesos.cli.run.grammar import Option, UsageError, option, options_of, parse_words
from tfmesos.cli.run.values import parse_amount, parse_cards, parse_count, parse_ids, parse_time, parse_variable

__all__ = ["TfrunOptions", "help_text", "load_options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TfrunOptions:
    """A command line of `tfrun`, understood."""

    nworker: int = option("-w", "--nworker", metavar="N", parse=parse_count, help="number of workers (required)")
    nserver: int = option(
        "-s", "--nserver", metavar="N", default=0, parse=parse_count, help="number of parameter servers (0)"
    )
    master: str | None = option(
        "-m",
        "--master",
        metavar="MASTER",
        default=None,
        help="Mesos master, HOST[:PORT]; without it MESOS_MASTER counts; without that, or as 'local', "
        "a cluster is made on this machine for this job",
    )
    name: str | None = option("-n", "--name", metavar="NAME", default=None, help="name of the job in Mesos")
    containerizer_type: str | None = option(
        "-C",
        "--containerizer_type",
        metavar="TYPE",
        default=None,
        help="containerizer for images: MESOS or DOCKER (MESOS; DOCKER at a master before Mesos 1.0)",
    )
    force_pull_image: bool = option(
        "-f", "--force_pull_image", default=False, help="pull the image even if the agent has it"
    )
    worker_cpus: float = option(
        "-Cw", "--worker-cpus", metavar="CPUS", default=1.0, parse=parse_amount, help="cpus of each worker (1)"
    )
    worker_gpus: int = option(
        "-Gw", "--worker-gpus", metavar="GPUS", default=0, parse=parse_cards, help="NVIDIA GPUs of each worker (0)"
    )
    worker_mem: float = option(
        "-Mw", "--worker-mem", metavar="MB", default=1024.0, parse=parse_amount, help="memory of each worker (1024)"
    )
    server_cpus: float = option(
        "-Cs", "--server-cpus", metavar="CPUS", default=1.0, parse=parse_amount, help="cpus of each server (1)"
    )
    server_gpus: int = option(
        "-Gs", "--server-gpus", metavar="GPUS", default=0, parse=parse_cards, help="NVIDIA GPUs of each server (0)"
    )
    server_mem: float = option(
        "-Ms", "--server-mem", metavar="MB", default=1024.0, parse=parse_amount, help="memory of each server (1024)"
    )
    verbose: bool = option("-v", "--verbose", default=False, help="tell what the launcher does")
    volume: tuple[str, ...] = option(
        "-V",
        "--volume",
        metavar="SRC[:DST[:ro|rw]]",
        default=(),
        is_list=True,
        help="directory of the agent's machine, absolute, and where the tasks see it; may be given again",
    )
    role: str | None = option("-r", "--role", metavar="ROLE", default=None, help="role in Mesos (*)")
    extra_config: str | None = option(
        "-e",
        "--extra_config",
        metavar="FILE",
        default=None,
        help="JSON file with the shell commands 'initializer' and 'finalizer', run around each task",
    )
    worker_logs: tuple[int, ...] | None = option(
        "--worker-logs",
        metavar="ID[,ID...]|*",
        default=None,
        parse=parse_ids,
        help="show only the output of these workers; without it, or as '*', all tasks' output is shown",
    )
    local_worker: bool = option(
        "--local-worker", default=False, help="run worker 0 here, in the foreground, with this terminal"
    )
    image: str | None = option(
        "--image",
        metavar="IMAGE",
        default=None,
        help="container image for the tasks, with python3 in it; without it DOCKER_IMAGE counts",
    )
    shm: str | None = option(
        "--shm", metavar="SIZE", default=None, help="size of the tasks' /dev/shm, as 512m or 2g (the agent's own)"
    )
    tensorboard: str | None = option(
        "--tensorboard",
        metavar="LOGDIR",
        default=None,
        help="run TensorBoard for LOGDIR here, at a free port, while the job lives, and tell its address",
    )
    env: tuple[tuple[str, str], ...] = option(
        "--env",
        metavar="NAME=VALUE",
        default=(),
        parse=parse_variable,
        is_list=True,
        help="variable for the tasks; may be given again",
    )
    time_limit_s: float | None = option(
        "--time-limit",
        metavar="TIME",
        default=None,
        parse=parse_time,
        help="end the job after this time, as 90, 10m or 2h, with status 124",
    )
    fail_fast: bool = option(
        "--fail-fast", default=False, help="end with status 69 when no agent has enough, instead of waiting for one"
    )
    checkpoint: bool = option(
        "--checkpoint", default=False, help="the tasks go on while their agent is restarted, instead of failing"
    )
    no_placeholders: bool = option("--no-placeholders", default=False, help="replace no {...} in the command")
    dry_run: bool = option(
        "--dry-run", default=False, help="print each task's command, environment and resources; run nothing"
    )
    self_test: bool = option(
        "--self-test", default=False, help="add two numbers with TensorFlow on a cluster made here"
    )
    help: bool = option("-h", "--help", default=False, help="print this and end")
    version: bool = option("--version", default=False, help="print the version and end")
    command: tuple[str, ...] = ()


def load_options(words: Sequence[str]) -> TfrunOptions:
    """The options in a command line without the program's name. Raises UsageError."""
    _check_encoding(words)
    options = options_of(TfrunOptions)
    alone = _alone(options, words)
    if alone is not None:
        return alone
    values, command = parse_words(options, words)
    loaded = TfrunOptions(**values, command=tuple(command))
    _check(loaded)
    return loaded


def help_text() -> str:
    """What `--help` prints."""
    from textwrap import wrap

    lines = [_USAGE]
    for each in options_of(TfrunOptions):
        names = ", ".join(each.names)
        lines.append(f"  {names}{f' {each.metavar}' if each.metavar else ''}")
        lines += [f"        {line}" for line in wrap(each.help, 92)]
    return "\n".join([*lines, _AFTER])


def _alone(options: Sequence[Option], words: Sequence[str]) -> TfrunOptions | None:
    """`--help`, `--version` and `--self-test` need nothing else, and win over what is wrong beside them."""
    own = _own_words(options, words)
    if "-h" in own or "--help" in own:
        return TfrunOptions(nworker=0, help=True)
    if "--version" in own:
        return TfrunOptions(nworker=0, version=True)
    return TfrunOptions(nworker=0, self_test=True) if "--self-test" in own else None


def _own_words(options: Sequence[Option], words: Sequence[str]) -> list[str]:
    """The words before the command, as far as that can be told without understanding them."""
    taking = {name for each in options if each.metavar for name in each.names}
    own: list[str] = []
    is_value = False
    for word in words:
        if not is_value and (word == "--" or not word.startswith("-")):
            break
        if not is_value:
            own.append(word)
        is_value = not is_value and word in taking
    return own


def _check_encoding(words: Sequence[str]) -> None:
    for number, word in enumerate(words, 1):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"argument {number} is not UTF-8, and Mesos carries UTF-8 only: {word!r}") from None


def _check(options: TfrunOptions) -> None:
    if not options.nworker and not options.nserver:
        raise UsageError("a job with no tasks: -w and -s are both 0")
    if not options.command or not options.command[0]:
        raise UsageError("the command is missing: tfrun -w N [-s N] [options] -- COMMAND [ARGUMENT...]")
    if options.local_worker and not options.nworker:
        raise UsageError("--local-worker needs a worker: -w is 0")
    for each in options.worker_logs or ():
        if each >= options.nworker:
            raise UsageError(f"--worker-logs {each}: the last worker is {options.nworker - 1}")


_USAGE = """\
Usage: tfrun -w N [-s N] [options] -- COMMAND [ARGUMENT...]

Runs COMMAND as a distributed TensorFlow job: N workers and N parameter servers, on a Mesos cluster
or on this machine. In each argument {ps_hosts}, {worker_hosts}, {job_name} and {task_index} are
replaced; tasks also get TF_CONFIG and TFMESOS_* variables. All after COMMAND belongs to it.

Options:"""

_AFTER = """
Exit status: 0 the job succeeded; the first failing task's own (128+n for signal n); 2 wrong usage;
69 no master, or the job can never fit; 124 time limit; 130 Ctrl-C.

  tfrun -w 2 -s 1 -- python train.py --ps_hosts {ps_hosts} --worker_hosts {worker_hosts} \\
      --job_name {job_name} --worker_index {task_index}
"""
