"""Program starts per second under supervision, against plain subprocesses; and the memory it takes.

Run: python bench/supervision.py [COUNT]
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tfmesos.supervision import ProcessSpec, Supervised, Supervisors

CONCURRENT = 32


def measure_subprocesses(count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        subprocess.run(["/bin/true"], check=True)
    return count / (time.perf_counter() - started)


async def measure_supervisors(count: int, spec: ProcessSpec, *, detached: bool = False) -> float:
    supervisors = Supervisors()
    limit = asyncio.Semaphore(CONCURRENT)

    async def run() -> None:
        async with limit:
            place = tempfile.mkdtemp(dir=spec.directory) if detached else None
            child = await supervisors.launch(replace(spec, detached=detached, record_dir=place))
            await child.release()
            assert (await child.wait()).wait_status == 0

    await run()
    started = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(run())
    rate = count / (time.perf_counter() - started)
    await supervisors.close()
    return rate


async def measure_memory(spec: ProcessSpec) -> tuple[int, int]:
    """PSS in kB of the fork server, and of a supervisor beside 19 others."""
    supervisors = Supervisors()
    children = [await supervisors.launch(spec) for _ in range(20)]
    server = parent_of(children[0])
    sizes = pss_kb(server), pss_kb(children[0].pid)
    await supervisors.close()
    return sizes


def parent_of(child: Supervised) -> int:
    return int(Path(f"/proc/{child.pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def pss_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as directory:
        log = f"{directory}/log"
        spec = ProcessSpec(id="bench", argv=("/bin/true",), environment={}, directory=directory, stdout=log, stderr=log)
        plain = measure_subprocesses(count)
        supervised = asyncio.run(measure_supervisors(count, spec))
        detached = asyncio.run(measure_supervisors(count, spec, detached=True))
        server_kb, supervisor_kb = asyncio.run(measure_memory(spec))
    print(f"{'starts of /bin/true':40} {'per second':>12} {'ratio':>8}")
    print(f"{'subprocess.run, one after the other':40} {plain:12.0f} {1:8.2f}")
    print(f"{f'supervised, {CONCURRENT} at a time':40} {supervised:12.0f} {supervised / plain:8.2f}")
    print(f"{f'detached, {CONCURRENT} at a time':40} {detached:12.0f} {detached / plain:8.2f}")
    print(f"{'PSS of fork server, of one supervisor':40} {server_kb / 1024:9.1f} MB {supervisor_kb / 1024:5.1f} MB")


if __name__ == "__main__":
    main()
