"""Fetching from https with a certificate of one's own, and from ftp: servers that the tests run themselves."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.agent.fetcher.conftest import Order, Web, content, log
from tests.agent.fetcher.ftp_server import FtpServer
from tfmesos.agent import AgentFlags
from tfmesos.agent.fetcher import Fetcher, FetchFailed
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

URI = mesos_pb2.CommandInfo.URI
FetcherWith = Callable[[dict[str, str]], AbstractAsyncContextManager[Fetcher]]


@pytest.fixture
def fetcher_with(flags: AgentFlags) -> FetcherWith:
    """A fetcher of an agent that has this environment."""

    @asynccontextmanager
    async def make(environment: dict[str, str]) -> AsyncIterator[Fetcher]:
        supervisors = Supervisors()
        await supervisors.start()
        fetcher = Fetcher(flags, supervisors, environment)
        yield fetcher
        await fetcher.close()
        await supervisors.close()

    return make


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a CA (`ca.pem`; `trusted/`) and what it vouches for: 127.0.0.1 (`server.pem`, `server.key`)."""
    folder = tmp_path_factory.mktemp("authority")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test CA")
    openssl("req", *new_key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=Test server")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
    openssl("x509", "-req", "-in", "server.csr", "-out", "server.pem", *signing)
    (folder / "trusted").mkdir()
    shutil.copy(folder / "ca.pem", folder / "trusted")
    openssl("rehash", "trusted")
    return folder


@pytest.fixture
def secure_web(web: Web, authority: Path) -> Web:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    web.server.socket = context.wrap_socket(web.server.socket, server_side=True, do_handshake_on_connect=False)
    web.url = web.url.replace("http:", "https:")
    return web


@pytest.mark.parametrize(("variable", "named_as"), [("SSL_CERT_FILE", "ca.pem"), ("SSL_CERT_DIR", "trusted")])
async def test_https_takes_the_certificates_that_the_operator_names(
    fetcher_with: FetcherWith, order: Order, secure_web: Web, authority: Path, variable: str, named_as: str
) -> None:
    wanted = order(URI(value=secure_web.serve("/d/a.txt", b"secret")))

    async with fetcher_with({variable: str(authority / named_as)}) as fetcher:
        await fetcher.fetch(wanted)

    assert content(wanted) == {"a.txt": b"secret"}


async def test_https_refuses_a_certificate_that_nobody_trusted_vouches_for(
    fetcher: Fetcher, order: Order, secure_web: Web
) -> None:
    wanted = order(URI(value=secure_web.serve("/a", b"x")))

    with pytest.raises(FetchFailed):
        await fetcher.fetch(wanted)

    assert "certificate verify failed" in log(wanted)
    assert content(wanted) == {}


async def test_https_refuses_a_certificate_of_another_host(
    fetcher_with: FetcherWith, order: Order, secure_web: Web, authority: Path
) -> None:
    wanted = order(URI(value=secure_web.serve("/a", b"x").replace("127.0.0.1", "localhost")))

    async with fetcher_with({"SSL_CERT_FILE": str(authority / "ca.pem")}) as fetcher:
        with pytest.raises(FetchFailed):
            await fetcher.fetch(wanted)

    assert "Hostname mismatch" in log(wanted)


@pytest.fixture
async def ftp() -> AsyncIterator[FtpServer]:
    async with FtpServer.started() as server:
        yield server


async def test_ftp_brings_a_file(fetcher: Fetcher, order: Order, ftp: FtpServer) -> None:
    ftp.files["/deep/a.bin"] = bytes(range(256)) * 1000
    wanted = order(URI(value=f"{ftp.url()}/deep/a.bin"))

    await fetcher.fetch(wanted)

    assert content(wanted) == {"a.bin": ftp.files["/deep/a.bin"]}
    assert ftp.logins == [("anonymous", "anonymous@")]


async def test_ftp_logs_in_with_what_the_uri_says_and_does_not_tell(
    fetcher: Fetcher, order: Order, ftp: FtpServer
) -> None:
    ftp.files["/a"] = b"a"
    wanted = order(URI(value=f"{ftp.url('me:s%3Acret@')}/a"))

    await fetcher.fetch(wanted)

    assert content(wanted) == {"a": b"a"}
    assert ftp.logins == [("me", "s:cret")]
    assert "cret" not in log(wanted)


async def test_ftp_without_the_file_fails(fetcher: Fetcher, order: Order, ftp: FtpServer) -> None:
    wanted = order(URI(value=f"{ftp.url()}/no/such"))

    with pytest.raises(FetchFailed):
        await fetcher.fetch(wanted)

    assert "Error downloading resource: the server said '550 no such directory'\n" in log(wanted)
    assert content(wanted) == {}


async def test_ftp_that_ends_early_fails(fetcher: Fetcher, order: Order, ftp: FtpServer) -> None:
    ftp.files["/a"] = b"whole"
    ftp.sends_half = True
    wanted = order(URI(value=f"{ftp.url()}/a"))

    with pytest.raises(FetchFailed):
        await fetcher.fetch(wanted)

    assert "the server said '426 the disk broke'\n" in log(wanted)


async def test_a_directory_is_no_file_that_ftp_brings(fetcher: Fetcher, order: Order, ftp: FtpServer) -> None:
    ftp.files["/deep/a"] = b"a"
    wanted = order(URI(value=f"{ftp.url()}/deep"))

    with pytest.raises(FetchFailed):
        await fetcher.fetch(wanted)

    assert "the server said '550 no such file'\n" in log(wanted)
    assert content(wanted) == {}


async def test_nobody_at_an_ftp_address_is_told(fetcher: Fetcher, order: Order) -> None:
    wanted = order(URI(value="ftp://127.0.0.1:1/a"))

    with pytest.raises(FetchFailed):
        await fetcher.fetch(wanted)

    assert "Error downloading resource: [Errno 111] Connection refused\n" in log(wanted)


async def test_a_redirect_can_lead_to_ftp(fetcher: Fetcher, order: Order, web: Web, ftp: FtpServer) -> None:
    ftp.files["/a"] = b"a"
    wanted = order(URI(value=web.serve("/moved", b"", 302, Location=f"{ftp.url()}/a")))

    await fetcher.fetch(wanted)

    assert content(wanted) == {"moved": b"a"}
