"""What the units do; and a driver that hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.waiting import eventually
from tests.gpu_machine import Description, Driver
from tests.gpu_machine.cards import build_cards
from tfmesos.agent.gpu.cards import Unit
from tfmesos.agent.gpu.discovery import discover
from tfmesos.agent.gpu.errors import NvmlFailed
from tfmesos.agent.gpu.nvml import Sample
from tfmesos.agent.gpu.nvml_thread import NvmlThread
from tfmesos.agent.gpu.sampler import Sampler

MIB = 2**20


@pytest.fixture
def thread() -> Iterator[NvmlThread]:
    thread = NvmlThread()
    yield thread
    thread.close()


async def test_samples_are_taken_when_asked_for_and_not_more_often_than_each_second(
    gpu_driver: Driver, thread: NvmlThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "machine"
    monkeypatch.setenv("FAKE_GPU_MACHINE", str(file))
    cards = build_cards(2, {1: 1})
    file.write_text(Description(cards=cards).text())
    nvml, _ = await discover(str(gpu_driver.nvml), thread)
    whole, part = Unit(minor=1, uuid=cards[0].uuid), Unit(minor=0, uuid=cards[1].instances[0].uuid)
    sampler = Sampler([whole, part], nvml, thread)
    assert sampler.last(whole) is None

    await sampler.refresh()
    file.write_text(Description(cards=[replace(card, used_mb=0) for card in cards]).text())  # type: ignore[arg-type]
    await sampler.refresh()

    assert sampler.last(whole) == Sample(memory_total_bytes=40960 * MIB, memory_used_bytes=512 * MIB, utilization=0.1)
    of_part = sampler.last(part)
    assert of_part is not None
    assert (of_part.memory_total_bytes, of_part.utilization) == (4864 * MIB, None)


async def test_while_a_call_hangs_others_fail_at_once_and_afterwards_they_do_not(thread: NvmlThread) -> None:
    go_on = threading.Event()

    with pytest.raises(NvmlFailed, match=r"does not answer within 0.01 seconds"):
        await thread.call(go_on.wait, timeout_s=0.01)
    with pytest.raises(NvmlFailed, match="the driver hangs"):
        await thread.call(lambda: 7, timeout_s=60)
    go_on.set()
    await eventually(lambda: not thread.is_hanging)

    assert await thread.call(lambda: 7, timeout_s=10) == 7


async def test_what_a_call_raises_is_raised(thread: NvmlThread) -> None:
    def fail() -> None:
        raise NvmlFailed("card 0: GPU is lost")

    with pytest.raises(NvmlFailed, match="GPU is lost"):
        await thread.call(fail, timeout_s=10)
