"""The child process: `python -m tfmesos.local`, started by `LocalCluster` and of no use by hand."""

import sys

from tfmesos.local.handover import Handover
from tfmesos.local.service import run

if __name__ == "__main__":
    sys.exit(run(Handover.from_json(sys.stdin.buffer.readline()), sys.stdout.buffer))
