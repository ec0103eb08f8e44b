"""volume/sandbox_path: what containers share of sandboxes, and what is refused, with Mesos' texts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.agent.isolators.views import refusal_of, view_of
from tests.agent.isolators.volumes_of import having, is_empty, mounts
from tfmesos.agent.containerizer import ContainerId
from tfmesos.agent.isolators import Mount
from tfmesos.agent.isolators.volumes import SandboxPathIsolator
from tfmesos.wire import mesos_pb2

V = mesos_pb2.Volume
SANDBOX = "/mnt/mesos/sandbox"
MOUNTING, LINKING = SandboxPathIsolator(SANDBOX, can_mount=True), SandboxPathIsolator(SANDBOX, can_mount=False)
PARENT = ContainerId("p")


def own(path: str, place: str, kind: str = "SELF", mode: Any = V.RW) -> mesos_pb2.Volume:
    of_sandbox = V.Source.SandboxPath(type=V.Source.SandboxPath.Type.Value(kind), path=path)
    return V(source=V.Source(type=V.Source.SANDBOX_PATH, sandbox_path=of_sandbox), container_path=place, mode=mode)


@pytest.mark.root
@pytest.mark.parametrize("is_old", [True, False])
async def test_a_directory_of_the_own_sandbox_is_made_for_its_owner(sandbox: Path, tree: Path, is_old: bool) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a sandbox to somebody else")
    os.chown(sandbox, 12345, 12346)
    volume = V(host_path="a/b", container_path="/data", mode=V.RW) if is_old else own("a/b", "/data")

    view = await view_of(MOUNTING, having(sandbox, volume, tree=tree))

    assert view == mounts(Mount(source=f"{sandbox}/a/b", target="/data", beneath=str(sandbox)))
    for made in (sandbox / "a", sandbox / "a/b"):
        assert (made.stat().st_uid, made.stat().st_gid) == (12345, 12346)


@pytest.mark.parametrize("place", ["/data", "shared"])
async def test_nested_containers_share_a_directory_of_the_sandbox_around(sandbox: Path, tree: Path, place: str) -> None:
    given = having(sandbox, own("common", place, "PARENT", V.RO), tree=tree, parent=PARENT)

    view = await view_of(MOUNTING, given)

    target = place if place.startswith("/") else f"{SANDBOX}/{place}"
    assert view == mounts(
        Mount(source=f"{sandbox}/common", target=target, options=("rbind", "ro"), beneath=str(sandbox))
    )
    assert (sandbox / "common").is_dir()


async def test_without_mounts_a_link_in_the_sandbox_has_to_do(sandbox: Path) -> None:
    given = having(sandbox, own("common", "a/shared", "PARENT"), parent=PARENT)

    for _ in range(2):  # a launch may be tried again
        assert await view_of(LINKING, given) is None
    assert not LINKING.wants_view(given)

    (sandbox / "common/x").write_text("x")
    assert (sandbox / "containers/c/a/shared/x").read_text() == "x"


@pytest.mark.parametrize(
    ("isolator", "volume", "is_nested", "text"),
    [
        (MOUNTING, own("/a", "/data"), False, "Path '/a' in SANDBOX_PATH volume is absolute"),
        (
            MOUNTING,
            own("a", "data"),
            False,
            "'container_path' is relative for SANDBOX_PATH volume SELF type",
        ),
        (
            MOUNTING,
            own("a", "/data", "PARENT"),
            False,
            "SANDBOX_PATH volume PARENT type only works for nested container",
        ),
        (MOUNTING, own("a", "/data", "UNKNOWN"), True, "'source.sandbox_path.type' is unknown"),
        (
            LINKING,
            own("a", "/srv", "PARENT"),
            True,
            "The 'linux' launcher and 'filesystem/linux' isolator must be enabled to support SANDBOX_PATH volume with "
            "absolute container path",
        ),
        (
            LINKING,
            own("a", "b", "PARENT", V.RO),
            True,
            "A read-only SANDBOX_PATH volume needs 'filesystem/linux' in --isolation",
        ),
        (
            MOUNTING,
            own("../../x", "/srv", "PARENT"),
            True,
            "Failed to create the directory '../../x' of a SANDBOX_PATH volume: the path leads out of the sandbox",
        ),
        (
            MOUNTING,
            own("", "/srv"),
            False,
            "Failed to create the directory '' of a SANDBOX_PATH volume: the path leads out of the sandbox",
        ),
    ],
)
async def test_what_a_sandbox_cannot_give_is_refused(
    sandbox: Path, isolator: SandboxPathIsolator, volume: mesos_pb2.Volume, is_nested: bool, text: str
) -> None:
    given = having(sandbox, volume, parent=PARENT if is_nested else None)

    assert await refusal_of(isolator, given) == text
    assert not (sandbox.parent / "x").exists()


@pytest.mark.parametrize("isolator", [MOUNTING, LINKING])
async def test_a_link_in_a_sandbox_is_no_source(sandbox: Path, isolator: SandboxPathIsolator) -> None:
    (sandbox / "link").symlink_to("/etc")

    for path in ("link", "link/x"):
        text = await refusal_of(isolator, having(sandbox, own(path, "b", "PARENT"), parent=PARENT))
        assert text.startswith(f"Failed to create the directory '{path}' of a SANDBOX_PATH volume: ")


async def test_a_link_is_made_through_none(sandbox: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (sandbox / "containers/c/a").symlink_to(tmp_path / "outside")

    text = await refusal_of(LINKING, having(sandbox, own("common", "a/it", "PARENT"), parent=PARENT))

    assert text.startswith("Failed to create the link 'a/it' of a SANDBOX_PATH volume: ")
    assert is_empty(tmp_path / "outside")
