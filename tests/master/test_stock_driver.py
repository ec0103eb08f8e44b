"""The stock Apache Mesos 1.11.0 C++ scheduler driver at our master."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.master.peers import Agent, Client
from tfmesos.master import Master, MasterFlags
from tfmesos.transport import TcpAddress
from tfmesos.wire import mesos_pb2

pytestmark = [pytest.mark.stock, pytest.mark.timeout(120)]

SOURCE = Path(__file__).parents[1] / "stock_mesos" / "stock_driver.cpp"


class StockDriver:
    """A running driver; what it was called back for is read line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def heard(self, wanted: str) -> None:
        """Return when it was called back so; other callbacks before it are passed over."""
        assert self._process.stdout is not None
        async with asyncio.timeout(20):
            async for line in self._process.stdout:
                if line.decode().strip() == wanted:
                    return
        raise AssertionError(f"the driver ended and never said {wanted!r}")


@pytest.fixture(scope="session")
def driver_program(stock_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("stock-driver") / "stock_driver"
    subprocess.run(["g++", "-O1", "-o", program, SOURCE, "-ldl"], check=True)
    return program


@asynccontextmanager
async def driver_at(
    master: TcpAddress, program: Path, folder: Path, framework_id: str = ""
) -> AsyncIterator[StockDriver]:
    info = mesos_pb2.FrameworkInfo(user="root", name="stock", failover_timeout=60)
    if framework_id:
        info.id.value = framework_id
    environment = {
        "PATH": os.environ["PATH"],
        "LD_LIBRARY_PATH": str(folder / "lib"),
        "LD_PRELOAD": str(folder / "lib" / "libpythonnames.so"),
        "LIBPROCESS_IP": "127.0.0.1",
        "LIBPROCESS_PORT": "0",
    }
    arguments = [str(folder / "_scheduler.so"), f"127.0.0.1:{master.port}", info.SerializeToString().hex()]
    process = await asyncio.create_subprocess_exec(
        program, *arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield StockDriver(process)
    finally:
        process.kill()
        await process.communicate()


async def started(work_dir: Path, port: int) -> Master:
    master = Master(MasterFlags(port=port, work_dir=str(work_dir), hostname="127.0.0.1"))
    await master.start()
    return master


async def only_framework(address: TcpAddress) -> str:
    async with Client(address) as client:
        [framework] = (await client.get_json("/frameworks"))["frameworks"]
    return str(framework["id"])


async def test_it_subscribes_gets_offers_survives_a_restart_and_fails_over(
    tmp_path: Path, driver_program: Path, stock_folder: Path
) -> None:
    master = await started(tmp_path, 0)
    address = master.address
    assert isinstance(address, TcpAddress)
    async with driver_at(address, driver_program, stock_folder) as first:
        await first.heard("registered")
        async with Agent.running(master):
            await first.heard("offers")
            framework_id = await only_framework(address)
            await master.close()

        master = await started(tmp_path, address.port)
        async with Agent.running(master):
            await first.heard("offers")
            assert await only_framework(address) == framework_id

            async with driver_at(address, driver_program, stock_folder, framework_id) as second:
                await first.heard("error: Framework failed over")
                await second.heard("registered")
                await second.heard("offers")
                assert await only_framework(address) == framework_id
    await master.close()
