"""Numbers by Mesos' names: what grows, what is read when asked, what takes time; shown as Mesos and Prometheus do.

registry.py     Metrics: the numbers of one program, and Snapshot: their values at one time
timer.py        Timer: how long something took, with percentiles
prometheus.py   the text that Prometheus reads
machine.py      facts about this machine
"""

from tfmesos.metrics.machine import machine_numbers
from tfmesos.metrics.prometheus import PROMETHEUS_TEXT, prometheus_text
from tfmesos.metrics.registry import Metrics, Snapshot, shares
from tfmesos.metrics.timer import Timer

__all__ = ["PROMETHEUS_TEXT", "Metrics", "Snapshot", "Timer", "machine_numbers", "prometheus_text", "shares"]
