"""`tfrun --self-test`: adds two numbers with TensorFlow on the embedded cluster, with nothing but what is installed."""

import importlib.util
import os
import sys
import time

from tfmesos.api import LOCAL, cluster
from tfmesos.errors import TfmesosError
from tfmesos.launcher import Job

__all__ = ["self_test"]

_SUM = 42


class TensorFlowMissing(TfmesosError):
    """TensorFlow is not installed for this Python."""

    exit_status = 2


def self_test() -> int:
    """Print what is done and found; the exit status. Raises TfmesosError."""
    if importlib.util.find_spec("tensorflow") is None:
        raise TensorFlowMissing(
            f"the self-test needs TensorFlow: install it with `{sys.executable} -m pip install 'tfmesos[tensorflow]'`"
        )
    began = time.monotonic()
    print("starting 2 parameter servers and 2 workers on this machine …", flush=True)
    result = _add()
    print(f"10 + 32 = {result} ({time.monotonic() - began:.1f} s)", flush=True)
    if result != _SUM:
        print(f"the self-test failed: {_SUM} was expected", file=sys.stderr)
        return 1
    print("the self-test succeeded")
    return 0


def _add() -> int:
    """Each number on a parameter server of its own, the addition on a worker."""
    os.environ.pop("DOCKER_IMAGE", None)  # set in our images: what is tested is this machine
    with cluster(
        [Job("ps", 2, mem=512), Job("worker", 2, mem=512)], master=LOCAL, name="[tfmesos] self-test", quiet=True
    ) as c:
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
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
