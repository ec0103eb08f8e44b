"""The variables of TFMesos, for any program."""

from collections.abc import Mapping

from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress


class PlainFramework:
    """TFMESOS_*, and output that is seen as it is written."""

    name = "plain"

    def environment(self, me: TaskAddress, everyone: ClusterAddresses) -> Mapping[str, str]:
        """The names of TFMesos 0.0.10."""
        return {
            "TFMESOS_PS_HOSTS": ",".join(everyone.of("ps").values()),
            "TFMESOS_WORKER_HOSTS": ",".join(everyone.of("worker").values()),
            "TFMESOS_JOB_NAME": me.job,
            "TFMESOS_TASK_INDEX": str(me.index),
            "TFMESOS_DISTRIBUTED": "1",
            "PYTHONUNBUFFERED": "1",
        }
