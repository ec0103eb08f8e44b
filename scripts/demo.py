"""`make demo`: train on this machine with no cluster anywhere, and print each result with the time it took."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
REPLICA = "examples/mnist/mnist_replica.py"
WIRING = ["--ps_hosts", "{ps_hosts}", "--worker_hosts", "{worker_hosts}"]
WIRING += ["--job_name", "{job_name}", "--worker_index", "{task_index}"]


@dataclass(frozen=True, kw_only=True)
class Example:
    """A command and the pattern of its result among the lines it prints."""

    title: str
    command: Sequence[str]
    result: re.Pattern[str]


EXAMPLES = (
    Example(
        title="the sum",
        command=["python", "examples/plus.py"],
        result=re.compile(r"^(\d+)$", re.MULTILINE),
    ),
    Example(
        title="MNIST, fine-grained mode",
        command=["python", "examples/mnist/mnist.py", "-w", "2", "-s", "2"],
        result=re.compile(r"(accuracy on the digits held out: [\d.]+)"),
    ),
    Example(
        title="MNIST, replica mode",
        command=["tfrun", "-w", "2", "-s", "1", "--", "python", REPLICA, *WIRING, "--train_steps", "500"],
        result=re.compile(r"(validation accuracy: [\d.]+)"),
    ),
)


def environment() -> dict[str, str]:
    """This environment with its programs first on the path, and without any Mesos master or setting."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MESOS_")}
    return {**kept, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}", "TF_CPP_MIN_LOG_LEVEL": "3"}


def run(example: Example, variables: Mapping[str, str]) -> str:
    """Run one example with its output shown as it comes; returns the result. Ends the program when there is none."""
    print(f"\n== {example.title}\n$ {' '.join(example.command)}", flush=True)
    lines = []
    with subprocess.Popen(
        example.command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, errors="replace", bufsize=1
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    found = example.result.search("".join(lines))
    if process.returncode != 0:
        raise SystemExit(f"{example.title} failed with status {process.returncode}")
    if found is None:
        raise SystemExit(f"{example.title} printed no result")
    return found.group(1)


def main() -> None:
    """Run all examples, then print one line for each."""
    variables = environment()
    summary = []
    for example in EXAMPLES:
        begin = time.monotonic()
        result = run(example, variables)
        summary.append(f"{example.title:26} {result:42} {time.monotonic() - begin:6.1f} s")
    print("\n" + "\n".join(summary))


if __name__ == "__main__":
    main()
