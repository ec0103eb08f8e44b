"""The commands of the README, on the embedded cluster, on our daemons, and on a stock master with our agent."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import pytest

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
]

REPLICA = "examples/mnist/mnist_replica.py"
WIRING = ["--ps_hosts", "{ps_hosts}", "--worker_hosts", "{worker_hosts}"]
WIRING += ["--job_name", "{job_name}", "--worker_index", "{task_index}"]
GOOD = 0.90


def accuracies(text: str, title: str) -> list[float]:
    return [float(value) for value in re.findall(rf"{title}: ([\d.]+)", text)]


def test_plus_prints_42(place: Any, run_example: Any) -> None:
    arguments = [] if place.master is None else [place.master]

    assert run_example("python", "examples/plus.py", *arguments).split() == ["42"]


def test_fine_grained_mode_learns(place: Any, run_example: Any) -> None:
    arguments = [] if place.master is None else [place.master]

    printed = run_example("python", "examples/mnist/mnist.py", "-w", "2", "-s", "1", *arguments)

    (accuracy,) = accuracies(printed, "accuracy on the digits held out")
    assert accuracy >= GOOD


def test_replica_mode_learns(place: Any, run_example: Any) -> None:
    by_argument = [] if place.master is None else ["-m", place.master]

    printed = run_example("tfrun", *by_argument, "-w", "2", "-s", "1", "--", "python", REPLICA, *WIRING)

    found = accuracies(printed, "validation accuracy")
    assert len(found) == 2
    assert min(found) >= GOOD
    assert len(accuracies(printed, "validation cross-entropy")) == 2


@pytest.mark.parametrize("run", [1, 2, 3])
def test_synchronous_replicas_learn_three_times_in_a_row(run: int, run_example: Any) -> None:
    options = ["--sync_replicas", "--train_steps", "300", "--batch_size", "128", "--hidden_units", "64"]
    options += ["--learning_rate", "0.005", "--data_dir", "examples/mnist/data"]

    printed = run_example("tfrun", "-w", "2", "-s", "1", "--", "python", REPLICA, *WIRING, *options)

    found = accuracies(printed, "validation accuracy")
    assert len(found) == 2
    assert min(found) >= GOOD


def test_the_master_may_come_from_the_environment(our_daemons: str, run_example: Any) -> None:
    assert run_example("python", "examples/plus.py", master=our_daemons).split() == ["42"]
