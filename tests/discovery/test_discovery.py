"""Which texts name a master, and who leads by them."""

import asyncio

import pytest

from tfmesos.discovery import EMBEDDED_MASTER_PID, Leader, MasterAddressError, agent_address, build_detector, master_pid
from tfmesos.transport import NO_PID, ConnectError, Pid, TcpAddress, UnixAddress


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:5050", TcpAddress("127.0.0.1", 5050)),
        ("127.0.0.1", TcpAddress("127.0.0.1", 5050)),
        (" localhost:6000 ", TcpAddress("localhost", 6000)),
        ("http://127.0.0.1:5051/", TcpAddress("127.0.0.1", 5051)),
        ("HTTP://127.0.0.1", TcpAddress("127.0.0.1", 5050)),
        ("[::1]:5052", TcpAddress("::1", 5052)),
        ("[::1]", TcpAddress("::1", 5050)),
        ("unix:///run/a b/master.sock", UnixAddress("/run/a b/master.sock")),
    ],
)
async def test_texts_that_name_a_master(text: str, address: TcpAddress | UnixAddress) -> None:
    detector = build_detector(text)
    leader = await detector.detect(None)
    assert leader.address == address
    await detector.close()
    await detector.close()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty; allowed are HOST:PORT"),
        ("a b:1", "allowed are HOST:PORT, HOST \\(port 5050\\), \\[IPV6\\]:PORT, http://HOST:PORT and unix:///PATH"),
        ("host:", "'' is no port"),
        ("host:0", "'0' is no port; a port is a number from 1 to 65535"),
        ("host:65536", "'65536' is no port"),
        ("host:5050x", "'5050x' is no port"),
        ("host:" + "9" * 5000, "is no port"),
        ("::1", "allowed are"),
        ("[::1]x", "allowed are"),
        ("user@host:5050", "allowed are"),
        ("host/path", "allowed are"),
        ("hôst", "allowed are"),
        ("a..b:5050", "allowed are"),
        ("x" * 64 + ".org", "allowed are"),
        ("ftp://host", "allowed are"),
        ("unix://relative", "needs an absolute path"),
        ("unix:///" + "x" * 107, "at most 107 bytes"),
        ("zk://a:2181,b:2181/mesos", "zk:// is not supported yet"),
        ("file:///etc/master", "file:// is not supported yet"),
        ("https://host", "https:// is not supported yet"),
    ],
)
def test_texts_that_name_none(text: str, why: str) -> None:
    with pytest.raises(MasterAddressError, match=why) as caught:
        build_detector(text)
    assert caught.value.exit_status == 2
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_the_leader_of_a_fixed_address_never_changes() -> None:
    for text in ("127.0.0.1:5050", "unix:///run/master.sock"):
        detector = build_detector(text)
        leader = await detector.detect(None)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(detector.detect(leader), 0.01)


async def test_a_pid_holds_the_ipv4_address_of_the_name() -> None:
    named = await build_detector("localhost:5050").detect(None)
    assert master_pid(named) == Pid("master", "127.0.0.1", 5050)
    assert master_pid(await build_detector("[::1]:5050").detect(None)) == NO_PID
    assert master_pid(await build_detector("unix:///run/m.sock").detect(None)) == EMBEDDED_MASTER_PID


async def test_a_name_that_does_not_resolve_is_a_connect_error() -> None:
    with pytest.raises(ConnectError, match=r"cannot connect to no-such-host\.invalid:5050"):
        await build_detector("no-such-host.invalid").detect(None)


def test_an_agent_of_an_embedded_cluster_is_beside_the_masters_socket() -> None:
    embedded = Leader(UnixAddress("/run/x/master.sock"), EMBEDDED_MASTER_PID)
    assert agent_address(embedded, "127.0.0.1", 5051) == UnixAddress("/run/x/agent.sock")
    remote = Leader(TcpAddress("10.0.0.1", 5050), None)
    assert agent_address(remote, "10.0.0.2", 5051) == TcpAddress("10.0.0.2", 5051)
