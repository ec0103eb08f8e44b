"""The versions: this project's own, and that of the Apache Mesos whose protocols it speaks."""

__version__ = "1.0.0"

MESOS_VERSION = "1.11.0"
