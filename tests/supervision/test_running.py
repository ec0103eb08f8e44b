"""What an owner can do with a program that runs: signal it, measure it."""

import asyncio
import resource
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tfmesos.supervision import ProcessSpec, SupervisionError, Supervisors, Termination, raise_descriptor_limit

if TYPE_CHECKING:
    from tests.supervision.conftest import Voice

BuildSpec = Callable[..., ProcessSpec]


async def test_a_signal_goes_to_the_main_process_alone(
    supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice"
) -> None:
    # given a program and its child, both with an answer to SIGUSR1
    script = """
        sh -c 'trap "echo child" USR1; echo ready; while :; do sleep 0.01; done' &
        trap 'echo main; kill $!; exit 4' USR1; echo ready; while :; do sleep 0.01; done"""
    child = await supervisors.launch(build_spec("sh", "-c", script, stdout=voice.path))
    child.signal(signal.SIGUSR1)  # nobody is there yet
    await child.release()
    assert await voice.lines(2) == ["ready", "ready"]
    for number in (0, -1, 4711):
        with pytest.raises(SupervisionError, match=f"{number} is no number of a signal"):
            child.signal(number)
    # when it is signalled
    child.signal(signal.SIGUSR1)
    # then only the program answers
    assert await child.wait() == Termination(wait_status=4 << 8, killed=False)
    assert await voice.lines(1) == ["main"]
    child.signal(signal.SIGUSR1)  # nobody is there any more


BUSY = """
import os, sys, threading, time
ballast = bytearray(20 << 20)
if os.fork() == 0:
    while time.process_time() < 0.2: pass
    os._exit(0)
os.wait()
if os.fork() == 0:
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    print(time.process_time(), flush=True)
    time.sleep(1000)
os.wait()
"""


async def test_statistics_tell_of_the_whole_tree(
    supervisors: Supervisors, build_spec: BuildSpec, voice: "Voice"
) -> None:
    # given a program with a child that has computed and ended, and one with a thread
    child = await supervisors.launch(build_spec(sys.executable, "-I", "-S", "-c", BUSY, stdout=voice.path))
    assert child.statistics().processes == 0
    await child.release()
    await voice.lines(1)
    # then all of them are counted
    statistics = child.statistics()
    assert (statistics.processes, statistics.threads) == (2, 3)
    assert 0.15 < statistics.user_s + statistics.system_s < 5
    assert 20 << 20 < statistics.rss_bytes < 200 << 20
    # and after the end nothing is
    child.kill(1.0)
    await child.wait()
    assert child.statistics().rss_bytes == 0


async def test_programs_get_the_descriptor_limit_from_before_it_was_raised(
    build_spec: BuildSpec, voice: "Voice"
) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    try:
        # given an owner that raised its limit
        supervisors = Supervisors(max_descriptors=raise_descriptor_limit())
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
        # when it runs a program
        child = await supervisors.launch(build_spec("sh", "-c", "ulimit -Sn; ulimit -Hn", stdout=voice.path))
        await child.release()
        # then that one has the earlier limit, and may raise it as it might before
        assert await voice.lines(2) == ["1024", str(before[1])]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    async with asyncio.timeout(10):
        await child.wait()
        await supervisors.close()
