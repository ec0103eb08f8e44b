#!/usr/bin/env python3
"""Add two numbers on a cluster: `plus.py [MASTER]` prints 42.

Each number lives on a parameter server of its own, and a worker adds them. Without MASTER (and MESOS_MASTER) everything
runs on this machine.
"""

from __future__ import annotations

import os
import sys

from tfmesos import Job, cluster
from tfmesos.errors import TfmesosError


def add(master: str | None) -> int:
    """10 + 32, added on a cluster."""
    with cluster([Job("ps", 2), Job("worker", 2)], master=master, quiet=True) as c:
        # Imported here, so that the servers start while it loads. This process only asks: it needs no GPU.
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what fails is raised; the rest is about this machine
        import tensorflow.compat.v1 as tf

        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                a = tf.constant(10)
            with tf.device("/job:ps/task:1"):
                b = tf.constant(32)
            with tf.device("/job:worker/task:1"):
                total = a + b
            with tf.Session(c.targets["/job:worker/task:0"]) as session:
                return int(session.run(total))


def main() -> int:
    try:
        print(add(sys.argv[1] if len(sys.argv) > 1 else None))
    except TfmesosError as error:
        print(f"plus.py: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
