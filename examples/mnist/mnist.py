#!/usr/bin/env python3
"""Learn to read digits in fine-grained mode: `mnist.py [-w N] [-s N] [--worker-gpus N] [MASTER]`.

Fine-grained mode is in-graph replication: every task of the cluster only runs a gRPC server. This program builds one
graph, with the variables on the parameter servers and a copy of the training step on each worker, and drives each
worker from a thread. It ends with the accuracy on the digits held out.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from digits import CLASSES, DEFAULT_DIRECTORY, PIXELS, Batch, load

from tfmesos import Job, cluster
from tfmesos.errors import TfmesosError

HIDDEN_UNITS = 100


@dataclass(frozen=True)
class Tower:
    """One worker's copy of the model."""

    images: Any
    labels: Any
    train: Any
    accuracy: Any


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Learn to read digits on a cluster, in fine-grained mode.")
    parser.add_argument("-w", "--nworker", type=int, default=2, help="number of workers (2)")
    parser.add_argument("-s", "--nserver", type=int, default=2, help="number of parameter servers (2)")
    parser.add_argument("--worker-gpus", type=int, default=0, help="GPUs of each worker (0)")
    parser.add_argument("--train-steps", type=int, default=200, help="steps of each worker (200)")
    parser.add_argument("--batch-size", type=int, default=100, help="digits in a step (100)")
    parser.add_argument("--learning-rate", type=float, default=0.003, help="of the Adam optimizer (0.003)")
    parser.add_argument("--data-dir", "--data_dir", default=DEFAULT_DIRECTORY, help="directory of the idx files")
    parser.add_argument("master", nargs="?", help="host:port of a Mesos master (default: this machine alone)")
    options = parser.parse_args(argv)
    if options.nworker < 1 or options.nserver < 1:
        parser.error("at least one worker and one parameter server are needed")
    if options.train_steps < 1:
        parser.error("at least one training step is needed")
    return options


def build_towers(tf: Any, options: argparse.Namespace) -> list[Tower]:
    """The variables, spread over the parameter servers, and a tower on each worker."""
    place = tf.train.replica_device_setter(ps_tasks=options.nserver, worker_device="/job:worker/task:0")
    with tf.device(place):
        shape, deviation = [PIXELS, HIDDEN_UNITS], PIXELS**-0.5
        hidden = tf.Variable(tf.random.truncated_normal(shape, stddev=deviation), name="hidden")
        hidden_bias = tf.Variable(tf.zeros([HIDDEN_UNITS]), name="hidden_bias")
        shape, deviation = [HIDDEN_UNITS, CLASSES], HIDDEN_UNITS**-0.5
        output = tf.Variable(tf.random.truncated_normal(shape, stddev=deviation), name="output")
        output_bias = tf.Variable(tf.zeros([CLASSES]), name="output_bias")
        optimizer = tf.train.AdamOptimizer(options.learning_rate)

    towers = []
    for index in range(options.nworker):
        place = tf.train.replica_device_setter(ps_tasks=options.nserver, worker_device=f"/job:worker/task:{index}")
        with tf.device(place):
            images = tf.placeholder(tf.float32, [None, PIXELS])
            labels = tf.placeholder(tf.int32, [None])
            scores = tf.nn.relu(images @ hidden + hidden_bias) @ output + output_bias
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores))
            is_right = tf.equal(tf.argmax(scores, axis=1, output_type=tf.int32), labels)
            accuracy = tf.reduce_mean(tf.cast(is_right, tf.float32))
            towers.append(Tower(images, labels, optimizer.minimize(loss), accuracy))
    return towers


def drive(session: Any, tower: Tower, batches: Iterator[Batch], steps: int) -> None:
    """Run one worker's training steps."""
    for images, labels in islice(batches, steps):
        session.run(tower.train, {tower.images: images, tower.labels: labels})


def train(targets: Mapping[str, str], options: argparse.Namespace) -> float:
    """Train on every worker at once; returns the accuracy on the digits held out."""
    import tensorflow.compat.v1 as tf

    digits, held_out = load(options.data_dir)
    batches = [digits.batches(options.batch_size, seed=index) for index in range(options.nworker)]
    failures: list[Exception] = []

    def drive_worker(index: int) -> None:
        try:
            with tf.Session(targets[f"/job:worker/task:{index}"], graph=graph) as session:
                drive(session, towers[index], batches[index], options.train_steps)
        except Exception as error:
            failures.append(error)

    with tf.Graph().as_default() as graph:
        towers = build_towers(tf, options)
        with tf.Session(targets["/job:worker/task:0"]) as session:
            session.run(tf.global_variables_initializer())
            threads = [threading.Thread(target=drive_worker, args=(index,)) for index in range(options.nworker)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if failures:
                raise failures[0]
            feed = {towers[0].images: held_out.images, towers[0].labels: held_out.labels}
            return float(session.run(towers[0].accuracy, feed))


def main() -> int:
    options = parse_arguments()
    jobs = [Job("ps", options.nserver), Job("worker", options.nworker, gpus=options.worker_gpus)]
    try:
        with cluster(jobs, master=options.master, quiet=True) as c:
            # TensorFlow is imported in here, so that the servers start while it loads. This process only asks: no GPU.
            os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
            os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what fails is raised; the rest is about this machine
            accuracy = train(c.targets, options)
    except TfmesosError as error:
        print(f"mnist.py: {error}", file=sys.stderr)
        return error.exit_status
    print(f"accuracy on the digits held out: {accuracy:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
