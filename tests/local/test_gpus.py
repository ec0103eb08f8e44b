"""GPUs of this machine are held for one job at a time, and never more than there are."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from uuid import uuid4

import pytest

from tfmesos.agent.gpu import Card, GpuSupply, Machine, Unit
from tfmesos.launcher import NeverFits
from tfmesos.local import LocalNeeds
from tfmesos.local.gpus import allot, choose, visible_units
from tfmesos.local.locks import NameLocks

TAKE_AND_WAIT = """
import sys
from tfmesos.local.locks import NameLocks
locks = NameLocks(sys.argv[1])
print(sum(locks.take(name) for name in sys.argv[2:]), flush=True)
sys.stdin.read()
"""


def supply(count: int, kind: str = "") -> GpuSupply:
    """Minors run against the indices."""
    cards = [
        Card(index=n, minor=count - 1 - n, uuid=f"GPU-{kind}{n}{n}{n}", name="T", memory_mb=1024) for n in range(count)
    ]
    return GpuSupply(
        units=tuple(Unit(minor=card.minor, uuid=card.uuid) for card in cards),
        machine=Machine(driver_version="1", cards=tuple(cards)),
    )


def needs(gpus: int, visible: str | None = None) -> LocalNeeds:
    return LocalNeeds(cpus=1, mem_mb=1, ports=1, gpus=gpus, visible_cards=visible)


class Jobs:
    """Jobs on one machine; their locks are of a kind that no other test and no real job has."""

    def __init__(self) -> None:
        self.kind = f"test-{uuid4().hex}"
        self.locks: list[NameLocks] = []

    def start(self, found: GpuSupply, wanted: LocalNeeds) -> list[str]:
        """The UUIDs that one more job gets, in order."""
        self.locks.append(NameLocks(self.kind))
        given = choose(found, wanted, self.locks[-1])
        assert given.resources.scalar("gpus") == 1000 * len(given.units)
        return [unit.uuid for unit in given.units]


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    jobs = Jobs()
    yield jobs
    for locks in jobs.locks:
        locks.close()


def test_the_lowest_are_given_and_no_more_than_asked_for(jobs: Jobs) -> None:
    assert jobs.start(supply(4), needs(2)) == ["GPU-333", "GPU-222"]


def test_two_jobs_at_once_never_share_one(jobs: Jobs) -> None:
    first = jobs.start(supply(4), needs(2))
    second = jobs.start(supply(4), needs(2))
    assert not set(first) & set(second)

    with pytest.raises(NeverFits, match=r"asks for 1 gpus, but this machine has 4, and other jobs use 4 of them$"):
        jobs.start(supply(4), needs(1))
    jobs.locks[1].close()
    assert jobs.start(supply(4), needs(1)) == second[:1]


def test_a_job_that_gets_too_few_holds_none(jobs: Jobs) -> None:
    with pytest.raises(NeverFits):
        jobs.start(supply(2), needs(3))

    assert len(jobs.start(supply(2), needs(2))) == 2


def test_they_come_back_when_the_holder_is_killed(jobs: Jobs) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", TAKE_AND_WAIT, jobs.kind, "GPU-000", "GPU-111"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"2\n"
    with pytest.raises(NeverFits):
        jobs.start(supply(2), needs(1))

    holder.kill()
    holder.communicate()

    assert len(jobs.start(supply(2), needs(2))) == 2


async def test_who_chooses_is_alone_so_that_two_that_want_all_do_not_get_a_half_each(jobs: Jobs) -> None:
    jobs.locks += [NameLocks(jobs.kind), NameLocks(jobs.kind)]
    slow, other = jobs.locks
    await slow.wait("choosing")
    waiting = asyncio.create_task(allot(supply(2), needs(2), other))
    await asyncio.wait({waiting}, timeout=0.05)
    assert not waiting.done()

    slow.give_back("choosing")

    assert len((await waiting).units) == 2
    assert slow.take("choosing")


@pytest.mark.parametrize(
    ("found", "wanted", "text"),
    [
        (
            GpuSupply(),
            needs(2),
            "has none (NVIDIA's driver, or its libnvidia-ml.so.1, is not there; AMD's GPUs are not supported): "
            "give a cluster with -m",
        ),
        (supply(0), needs(2), "has none: give a cluster with -m"),
        (supply(1), needs(2), "has 1: give a cluster with -m"),
        (supply(4), needs(2, "3"), "has 4, of which CUDA_VISIBLE_DEVICES='3' leaves 1: give a cluster with -m"),
        (supply(4), needs(2, ""), "has 4, of which CUDA_VISIBLE_DEVICES='' leaves none: give a cluster with -m"),
    ],
)
def test_too_few_are_told_with_numbers(jobs: Jobs, found: GpuSupply, wanted: LocalNeeds, text: str) -> None:
    with pytest.raises(NeverFits) as caught:
        jobs.start(found, wanted)

    assert str(caught.value) == f"the job asks for 2 gpus, but this machine {text}"
    assert caught.value.exit_status == 69


@pytest.mark.parametrize(
    ("variable", "visible"),
    [
        (None, "210"),
        ("-1", "210"),
        ("", ""),
        ("NoDevFiles", ""),
        ("0,2", "02"),
        ("GPU-1", "1"),
        ("2, GPU-0,2", "20"),
        ("1,7,0", "1"),
    ],
)
def test_what_the_users_own_variable_leaves_to_the_job(variable: str | None, visible: str) -> None:
    """By NVML's index and UUID; `-1` is how a program that only asks others hides the cards from itself."""
    assert [unit.uuid[-1] for unit in visible_units(supply(3), variable)] == list(visible)


def test_instances_of_a_card_are_visible_with_it() -> None:
    card = Card(index=0, minor=5, uuid="GPU-0", name="A", memory_mb=1, is_mig=True)
    units = tuple(Unit(minor=5, instance=(n, 0), uuid=f"MIG-{n}") for n in (1, 2))
    found = GpuSupply(units=units, machine=Machine(driver_version="1", cards=(card,)))

    assert visible_units(found, "0") == list(units)
    assert visible_units(found, "MIG-2") == [units[1]]
