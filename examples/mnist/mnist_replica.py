#!/usr/bin/env python3
"""Learn to read digits in replica mode (between-graph replication).

Every task of the job runs this program, for example

    tfrun -w 2 -s 1 -- python examples/mnist/mnist_replica.py --ps_hosts {ps_hosts} --worker_hosts {worker_hosts} \\
        --job_name {job_name} --worker_index {task_index}

A parameter server keeps variables and never ends by itself: tfrun stops it when the workers have finished. A worker
trains until the job has made `--train_steps` steps and ends with the cross-entropy and the accuracy on the digits held
out.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow.compat.v1 as tf
from absl import app
from digits import CLASSES, DEFAULT_DIRECTORY, PIXELS, load

tf.flags.DEFINE_string("ps_hosts", "", "addresses of the parameter servers, host:port,host:port")
tf.flags.DEFINE_string("worker_hosts", "", "addresses of the workers, host:port,host:port")
tf.flags.DEFINE_enum("job_name", None, ["ps", "worker"], "what this task is")
tf.flags.DEFINE_integer("worker_index", 0, "index of this task in its job; worker 0 initialises the variables")
tf.flags.DEFINE_boolean("sync_replicas", False, "a step is made of one batch of every worker, not of each on its own")
tf.flags.DEFINE_integer("train_steps", 500, "steps of all workers together", lower_bound=1)
tf.flags.DEFINE_integer("batch_size", 100, "digits in a batch", lower_bound=1)
tf.flags.DEFINE_integer("hidden_units", 100, "units of the hidden layer", lower_bound=1)
tf.flags.DEFINE_float("learning_rate", 0.003, "of the Adam optimizer", lower_bound=0.0)
tf.flags.DEFINE_string("data_dir", str(DEFAULT_DIRECTORY), "directory of the idx files")
tf.flags.mark_flag_as_required("job_name")
FLAGS = tf.flags.FLAGS

STEPS_BETWEEN_REPORTS = 100


@dataclass(frozen=True)
class Model:
    """The tensors that the training loop needs."""

    images: Any
    labels: Any
    cross_entropy: Any
    accuracy: Any
    global_step: Any


def build_model() -> Model:
    """One hidden layer; the variables go to the parameter servers in turn."""
    images = tf.placeholder(tf.float32, [None, PIXELS])
    labels = tf.placeholder(tf.int32, [None])
    hidden = dense(images, PIXELS, FLAGS.hidden_units, "hidden")
    scores = dense(tf.nn.relu(hidden), FLAGS.hidden_units, CLASSES, "output")
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
    is_right = tf.equal(tf.argmax(scores, axis=1, output_type=tf.int32), labels)
    return Model(
        images=images,
        labels=labels,
        cross_entropy=tf.reduce_mean(losses),
        accuracy=tf.reduce_mean(tf.cast(is_right, tf.float32)),
        global_step=tf.train.get_or_create_global_step(),
    )


def dense(inputs: Any, size: int, units: int, name: str) -> Any:
    weights = tf.Variable(tf.random.truncated_normal([size, units], stddev=size**-0.5), name=f"{name}_weights")
    bias = tf.Variable(tf.zeros([units]), name=f"{name}_bias")
    return inputs @ weights + bias


class Training:
    """The training step and the supervisor that prepares sessions for it."""

    def __init__(self, model: Model, worker_count: int) -> None:
        self._is_chief = FLAGS.worker_index == 0
        self._model = model
        self._optimizer = tf.train.AdamOptimizer(FLAGS.learning_rate)
        self._sync = None
        if FLAGS.sync_replicas:
            self._sync = tf.train.SyncReplicasOptimizer(
                self._optimizer, replicas_to_aggregate=worker_count, total_num_replicas=worker_count
            )
        optimizer = self._sync or self._optimizer
        self.step = optimizer.minimize(model.cross_entropy, global_step=model.global_step)
        self._supervisor = self._build_supervisor()

    def _build_supervisor(self) -> Any:
        local: dict[str, Any] = {}
        if self._sync is not None:
            # The chief's queue runner and first tokens must be in the graph before the supervisor closes it.
            self._queue_runner = self._sync.get_chief_queue_runner() if self._is_chief else None
            self._first_tokens = self._sync.get_init_tokens_op() if self._is_chief else None
            prepare = self._sync.chief_init_op if self._is_chief else self._sync.local_step_init_op
            local = {"local_init_op": prepare, "ready_for_local_init_op": self._sync.ready_for_local_init_op}
        return tf.train.Supervisor(
            is_chief=self._is_chief,
            init_op=tf.global_variables_initializer(),
            global_step=self._model.global_step,
            recovery_wait_secs=1,  # a worker that is earlier than the chief looks again after this, not after 30 s
            summary_op=None,
            **local,
        )

    def open_session(self, target: str, config: Any) -> Any:
        """A session whose variables are initialised: by this worker when it is the chief, else by the chief."""
        session = self._supervisor.prepare_or_wait_for_session(target, config=config)
        if self._sync is not None and self._is_chief:
            self._supervisor.start_queue_runners(session, [self._queue_runner])
            session.run(self._first_tokens)
        return session

    def run(self, session: Any) -> None:
        """Make steps until the whole job has made `--train_steps`."""
        batches = load(FLAGS.data_dir)[0].batches(FLAGS.batch_size, seed=FLAGS.worker_index)
        model, mine = self._model, 0
        # The step is read by itself, after the training step: a worker that trains on after the last one waits for
        # others that have left.
        while (step := session.run(model.global_step)) < FLAGS.train_steps:
            if mine % STEPS_BETWEEN_REPORTS == 0:
                print(f"worker {FLAGS.worker_index}: {mine} steps here, {step} of {FLAGS.train_steps} in all")
            images, labels = next(batches)
            session.run(self.step, {model.images: images, model.labels: labels})
            mine += 1
        print(f"worker {FLAGS.worker_index}: {mine} steps here, {step} in all")

    def close(self, session: Any) -> None:
        """Stop the supervisor's threads and close the session."""
        self._supervisor.request_stop()
        session.close()


def work(server: Any, cluster: Any) -> None:
    """Train as one worker and print how well the digits held out are read."""
    me = f"/job:worker/task:{FLAGS.worker_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=me, cluster=cluster)):
        model = build_model()
        training = Training(model, cluster.num_tasks("worker"))
    # With this filter a worker talks to itself and the parameter servers only, and needs no other worker to live.
    session = training.open_session(server.target, tf.ConfigProto(device_filters=["/job:ps", me]))
    begin = time.monotonic()
    training.run(session)
    print(f"training took {time.monotonic() - begin:.1f} s")
    held_out = load(FLAGS.data_dir)[1]
    feed = {model.images: held_out.images, model.labels: held_out.labels}
    cross_entropy, accuracy = session.run([model.cross_entropy, model.accuracy], feed)
    print(f"validation cross-entropy: {cross_entropy:.4f}")
    print(f"validation accuracy: {accuracy:.4f}")
    training.close(session)


def main(_: list[str]) -> None:
    if not FLAGS.ps_hosts or not FLAGS.worker_hosts:
        raise SystemExit("--ps_hosts and --worker_hosts must each name an address at least; `tfrun -s 1 -w 2` does it")
    tf.disable_eager_execution()
    tf.logging.set_verbosity(tf.logging.ERROR)
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    # One thread for each: several tasks share a machine, and a graph this small gains nothing from more.
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2)
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.worker_index, config=config)
    if FLAGS.job_name == "ps":
        server.join()
    else:
        work(server, cluster)


if __name__ == "__main__":
    app.run(main)  # refuses unknown flags, which tf.app.run does not
