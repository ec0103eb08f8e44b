"""A driver that does not answer."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path

from tests.gpu.cluster import GpuCluster
from tests.gpu_machine import StartGpuMachine


def test_an_agent_that_waits_for_it_can_be_stopped(start_gpu_machine: StartGpuMachine) -> None:
    # given an agent that starts and has asked
    machine = start_gpu_machine(cards=1)
    answers = machine.folder / "driver-files" / "nvidia" / "machine"
    answers.unlink()
    os.mkfifo(answers)
    cluster = GpuCluster(machine)
    cluster.agent.start()
    asked = _wait_reader(answers)
    try:
        # when it is to end
        began_s = time.monotonic()
        status = cluster.agent.kill(signal.SIGTERM)
        # then it does
        assert status == 0
        assert "asking the driver for its cards, by libnvidia-ml.so.1\n" in cluster.agent.log()
        assert time.monotonic() - began_s < 20
    finally:
        os.close(asked)
        cluster.stop()


def _wait_reader(fifo: Path) -> int:
    """The end to write to, when someone reads."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        time.sleep(0.02)  # the reader is another process
    raise AssertionError("nobody reads")
