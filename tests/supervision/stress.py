"""Owners, supervisors, fork servers and programs killed -9 at random; run by hand.

Run: python tests/supervision/stress.py [ROUNDS [SEED]]

A round is an owner: it adopts what there is, launches more, kills some, and is killed. Checked in the end: no process
is left, no program was started twice, every end is told the same by whoever is asked, and a status other than unknown
is the program's own.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tfmesos.supervision import (
    Console,
    LogLimit,
    OwnedElsewhere,
    ProcessSpec,
    Supervised,
    SupervisionError,
    Supervisors,
    Termination,
)
from tfmesos.supervision._tree import children_of

PER_ROUND = 8
STATUS = 7
MARK = "TFMESOS_STRESS"
PROGRAMS = (
    "exec sleep 0.3",
    f"sleep 0.2; exit {STATUS}",
    f"exit {STATUS}",
    "trap '' TERM; (setsid sh -c 'trap \"\" TERM; exec sleep 1000' &) ; sleep 1000; exit 1",
    "sleep 1000 & sleep 1000",
    f"i=0; while [ $i -lt 300 ]; do echo $i; i=$((i + 1)); done; exit {STATUS}",
)
OWN_STATUSES = (0, STATUS << 8, signal.SIGTERM.value, signal.SIGKILL.value)


def build_spec(directory: Path, mark: str, dice: random.Random) -> ProcessSpec:
    return ProcessSpec(
        id=directory.name,
        argv=("sh", "-c", f"echo >> starts; {dice.choice(PROGRAMS)}"),
        environment={"PATH": "/usr/bin:/bin", MARK: mark, "PLACE": str(directory)},
        mark="PLACE",
        directory=str(directory),
        stdout=str(directory / "stdout"),
        stderr=str(directory / "stderr"),
        record_dir=str(directory),
        detached=True,
        recovery_timeout_s=30.0,
        grace_s=0.3,
        console=dice.choice((None, None, Console(tty=True), Console())),
        log_limit=dice.choice((None, None, LogLimit(max_bytes=200, max_files=2))),
    )


class Owner:
    """One owner's life, in a process of its own."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.directory = directory
        self.dice = random.Random(seed)
        self.seed = seed
        self.supervisors = Supervisors()

    async def run(self) -> None:
        mark = str(self.directory)
        async with asyncio.TaskGroup() as group:
            for name in os.listdir(self.directory):
                group.create_task(self.take(self.directory / name))
            for number in range(PER_ROUND):
                new = self.directory / f"{self.seed}.{number}"
                new.mkdir()
                group.create_task(self.launch(new, mark))
                await asyncio.sleep(self.dice.uniform(0, 0.02))
        print("settled", flush=True)
        await asyncio.Event().wait()

    async def take(self, directory: Path) -> None:
        child = await adopt(self.supervisors, directory)
        if isinstance(child, Supervised):
            await self.follow(child, directory)
        else:
            tell(directory, child)

    async def launch(self, directory: Path, mark: str) -> None:
        try:
            child = await self.supervisors.launch(build_spec(directory, mark, self.dice))
        except SupervisionError:
            return  # it was lost too often
        if self.dice.random() < 0.9:
            await child.release()
        await self.follow(child, directory)

    async def follow(self, child: Supervised, directory: Path) -> None:
        if self.dice.random() < 0.4:
            await asyncio.sleep(self.dice.uniform(0, 0.3))
            child.kill(self.dice.uniform(0, 0.5))
        tell(directory, await child.wait())


async def adopt(supervisors: Supervisors, directory: Path) -> Supervised | Termination:
    """The owner before may still be dying."""
    while True:
        try:
            return await supervisors.adopt(str(directory))
        except OwnedElsewhere:
            await asyncio.sleep(0.01)


def tell(directory: Path, termination: Termination) -> None:
    with open(directory / "ends", "a") as file:
        file.write(json.dumps([termination.wait_status, termination.killed]) + "\n")


def hurt(owner: int, dice: random.Random) -> list[str]:
    """Kill one or two of what is there."""
    servers = children_of(owner)
    supervisors = [pid for server in servers for pid in children_of(server)]
    mains = [pid for supervisor in supervisors for pid in children_of(supervisor)]
    choices = {"fork server": servers, "supervisor": supervisors, "program": mains}
    hurt = []
    for name in dice.sample(list(choices), dice.choice((0, 0, 1, 1, 2))):
        if choices[name]:
            os.kill(dice.choice(choices[name]), signal.SIGKILL)
            hurt.append(name)
    return hurt


def marked(mark: str) -> list[int]:
    """Living processes that a program started, or is."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and f"{MARK}={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:
            continue
    return found


async def settle_all(directory: Path) -> None:
    """The last owner ends everything."""
    supervisors = Supervisors()

    async def settle(place: Path) -> None:
        child = await adopt(supervisors, place)
        if isinstance(child, Supervised):
            child.kill(0.2)
            child = await child.wait()
        tell(place, child)
        again = await supervisors.adopt(str(place))
        tell(place, again if isinstance(again, Termination) else await again.wait())

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for name in os.listdir(directory):
            group.create_task(settle(directory / name))
    await supervisors.close(end_detached=True)


def check(directory: Path) -> int:
    """Returns the number of programs whose end is known."""
    known = 0
    for place in sorted(directory.iterdir()):
        ends = set((place / "ends").read_text().splitlines())
        if len(ends) != 1:
            raise SystemExit(f"{place.name}: different ends were told: {sorted(ends)}")
        status, _ = json.loads(ends.pop())
        if status is not None and status not in OWN_STATUSES:
            raise SystemExit(f"{place.name}: ended with {status}")
        known += status is not None
        starts = place / "starts"
        if starts.exists() and starts.stat().st_size > 1:
            raise SystemExit(f"{place.name}: was started {starts.stat().st_size} times")
    return known


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
    print(f"{rounds} rounds, seed {seed}")
    dice = random.Random(seed)
    with TemporaryDirectory() as name:
        directory = Path(name)
        for number in range(rounds):
            command = [sys.executable, __file__, "--owner", name, str(seed + number)]
            owner = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            time.sleep(dice.uniform(0.1, 0.8))
            victims = hurt(owner.pid, dice)
            time.sleep(dice.uniform(0, 0.3))
            if owner.poll() is not None:
                raise SystemExit(f"the owner of round {number} failed")
            owner.kill()
            owner.wait()
            print(f"round {number}: killed {', '.join([*victims, 'owner'])}", flush=True)
        asyncio.run(settle_all(directory))
        left = marked(name)
        if left:
            raise SystemExit(f"processes are left: {left}")
        known = check(directory)
        print(f"{len(list(directory.iterdir()))} programs, {known} with a known end; nothing is left")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--owner"]:
        asyncio.run(Owner(Path(sys.argv[2]), int(sys.argv[3])).run())
    else:
        main()
