"""volume/secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agent.images.store_of import mounted
from tests.agent.isolators.views import view_of
from tests.agent.isolators.volumes_of import having, is_empty, mounts
from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.isolators import Mount
from tfmesos.agent.isolators.volumes import SecretVolumeIsolator
from tfmesos.wire import mesos_pb2

V = mesos_pb2.Volume
SANDBOX = "/mnt/mesos/sandbox"
PARENT = ContainerId("p")


def secret(place: str, data: bytes = b"\0secret") -> mesos_pb2.Volume:
    value = mesos_pb2.Secret(type=mesos_pb2.Secret.VALUE, value=mesos_pb2.Secret.Value(data=data))
    return V(source=V.Source(type=V.Source.SECRET, secret=value), container_path=place, mode=V.RO)


@pytest.mark.root
async def test_a_secret_is_a_file_for_the_containers_user_until_its_end(
    sandbox: Path, tree: Path, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a sandbox to somebody else")
    os.chown(sandbox, 12345, 12346)
    isolator = SecretVolumeIsolator(tmp_path / "run", SANDBOX)
    given = having(sandbox, secret("/run/key"), secret("keys/other", b"2"), tree=tree)

    view = await view_of(isolator, given)

    kept = tmp_path / "run/secrets/c"
    assert view == mounts(
        Mount(source=f"{kept}/0.secret", target="/run/key", options=("bind", "ro")),
        Mount(source=f"{kept}/1.secret", target=f"{SANDBOX}/keys/other", options=("bind", "ro")),
    )
    assert (kept / "0.secret").read_bytes() == b"\0secret"
    assert (sandbox / "keys/other").read_bytes() == b""
    status = (kept / "0.secret").stat()
    assert (status.st_mode & 0o7777, status.st_uid, status.st_gid) == (0o400, 12345, 12346)
    assert (tmp_path / "run/secrets").stat().st_mode & 0o077 == 0
    await isolator.cleanup(given.id)
    await isolator.cleanup(given.id)
    assert not kept.exists()


@pytest.mark.root
async def test_what_cannot_be_removed_is_told(sandbox: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    isolator = SecretVolumeIsolator(tmp_path / "run", SANDBOX)
    given = having(sandbox, secret("a"))
    await isolator.prepare(given, {})
    (inner := tmp_path / "run/secrets/c/inner").mkdir()
    with mounted(inner, "1m"):
        await isolator.cleanup(given.id)
        assert f"its secrets in {tmp_path}/run/secrets/c cannot be removed" in caplog.text
    await isolator.cleanup(given.id)
    assert not (tmp_path / "run/secrets/c").exists()


async def test_secrets_of_no_container_go(sandbox: Path, tmp_path: Path) -> None:
    before = SecretVolumeIsolator(tmp_path / "run", SANDBOX)
    known = having(sandbox, secret("a"))
    nested = having(sandbox, secret("a"), parent=PARENT)
    for given in (known, nested):
        await before.prepare(given, {})

    await SecretVolumeIsolator(tmp_path / "run", SANDBOX).recover({known.id: known}, set())

    assert not is_empty(tmp_path / "run/secrets/c")
    assert not (tmp_path / "run/secrets/p").exists()
