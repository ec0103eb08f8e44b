"""TF_CONFIG, as tf.distribute reads it."""

import json
from collections.abc import Mapping

from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress

EVALUATOR = "evaluator"


class TensorFlowFramework:
    """One JSON variable with the cluster and the task's own place in it.

    TensorFlow: a role that nobody starts must be absent, or every task waits for it; without a chief worker 0 is the
    chief; an evaluator is in nobody's cluster but its own; the index is a number.
    """

    name = "tensorflow"

    def environment(self, me: TaskAddress, everyone: ClusterAddresses) -> Mapping[str, str]:
        """`TF_CONFIG`; a role with a gap in its indices is an object with the indices as keys."""
        cluster = {job: hosts for job, hosts in everyone.spec().items() if job != EVALUATOR or me.job == EVALUATOR}
        config = {"cluster": cluster, "task": {"type": me.job, "index": me.index}}
        return {"TF_CONFIG": json.dumps(config, ensure_ascii=False, separators=(",", ":"))}
