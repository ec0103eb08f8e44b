"""volume/host_path: each kind of place, and what is refused, with Mesos' texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.isolators.views import refusal_of, view_of
from tests.agent.isolators.volumes_of import having, is_empty, mounts
from tfmesos.agent.isolators import Mount
from tfmesos.agent.isolators.volumes import HostPathIsolator
from tfmesos.wire import mesos_pb2

V = mesos_pb2.Volume
SANDBOX = "/mnt/mesos/sandbox"
HOST = HostPathIsolator(SANDBOX)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    (path / "file").write_text("x")
    return path


def host(path: Path | str, place: str, *, is_old: bool = False, mode: Any = V.RW, **source: Any) -> mesos_pb2.Volume:
    if is_old:
        return V(host_path=str(path), container_path=place, mode=mode)
    of_host = V.Source.HostPath(path=str(path), **source)
    return V(source=V.Source(type=V.Source.HOST_PATH, host_path=of_host), container_path=place, mode=mode)


@pytest.mark.parametrize("is_old", [True, False])
async def test_a_directory_of_the_host_at_an_absolute_path_of_an_image(
    sandbox: Path, tree: Path, data: Path, is_old: bool
) -> None:
    given = having(sandbox, host(data, "/new/place", is_old=is_old), tree=tree)

    assert await view_of(HOST, given) == mounts(Mount(source=str(data), target="/new/place"))
    assert not (tree / "new").exists()


async def test_a_file_of_the_host_read_only(sandbox: Path, tree: Path, data: Path) -> None:
    given = having(sandbox, host(data / "file", "/etc/it", mode=V.RO), tree=tree)

    assert await view_of(HOST, given) == mounts(Mount(source=f"{data}/file", target="/etc/it", options=("bind", "ro")))


async def test_an_absolute_path_without_an_image_must_exist_on_the_host(sandbox: Path, data: Path) -> None:
    assert await view_of(HOST, having(sandbox, host(data, "/srv"))) == mounts(Mount(source=str(data), target="/srv"))
    assert await refusal_of(HOST, having(sandbox, host(data, "/no/such/place"))) == (
        "Mount point '/no/such/place' is an absolute path. It must exist if the container shares the host filesystem"
    )


async def test_without_an_image_links_of_the_host_count(sandbox: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(data)

    view = await view_of(HOST, having(sandbox, host("/srv", f"{tmp_path}/link")))

    assert view == mounts(Mount(source="/srv", target=str(data)))


@pytest.mark.parametrize("has_image", [True, False])
async def test_a_relative_path_is_made_in_the_sandbox(sandbox: Path, tree: Path, data: Path, has_image: bool) -> None:
    given = having(sandbox, host(data, "in/here"), host(data / "file", "a/file"), tree=tree if has_image else None)

    view = await view_of(HOST, given)

    seen = SANDBOX if has_image else str(sandbox)
    assert view == mounts(
        Mount(source=str(data), target=f"{seen}/in/here"),
        Mount(source=f"{data}/file", target=f"{seen}/a/file", options=("bind",)),
    )
    assert (sandbox / "in/here").is_dir()
    assert (sandbox / "a/file").is_file()


async def test_a_source_that_is_a_link_is_what_it_leads_to(sandbox: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "to-file").symlink_to(data / "file")

    view = await view_of(HOST, having(sandbox, host(tmp_path / "to-file", "it")))

    assert view == mounts(Mount(source=f"{tmp_path}/to-file", target=f"{sandbox}/it", options=("bind",)))


async def test_what_is_not_there_is_refused_unless_it_may_be_made(sandbox: Path, tmp_path: Path) -> None:
    text = f"Path '{tmp_path}/forced/a/b' in HOST_PATH volume does not exist"
    volume = host(tmp_path / "forced/a/b", "it")
    assert await refusal_of(HOST, having(sandbox, volume)) == text
    (tmp_path / "forced").mkdir()
    forcing = HostPathIsolator(SANDBOX, [f"{tmp_path}/forced/", "/elsewhere"])

    view = await view_of(forcing, having(sandbox, volume))

    assert view == mounts(Mount(source=f"{tmp_path}/forced/a/b", target=f"{sandbox}/it"))
    assert (tmp_path / "forced/a/b").is_dir()
    for missing in (f"{tmp_path}/forced/../outside", f"{tmp_path}/forcedly/x"):
        assert "does not exist" in await refusal_of(forcing, having(sandbox, host(missing, "it")))
    assert not (tmp_path / "outside").exists()


async def test_nothing_is_made_through_a_link_below_a_forced_directory(sandbox: Path, tmp_path: Path) -> None:
    (tmp_path / "forced").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "forced/link").symlink_to(tmp_path / "outside")
    forcing = HostPathIsolator(SANDBOX, [f"{tmp_path}/forced"])

    text = await refusal_of(forcing, having(sandbox, host(tmp_path / "forced/link/new", "it")))

    assert text.startswith(f"Failed to create path '{tmp_path}/forced/link/new' in HOST_PATH volume: ")
    assert is_empty(tmp_path / "outside")


async def test_the_path_of_the_host_must_be_absolute(sandbox: Path) -> None:
    assert await refusal_of(HOST, having(sandbox, host("data", "/srv"))) == (
        "Path 'data' in HOST_PATH volume is not absolute"
    )


async def test_mounts_of_the_host_are_seen_and_none_are_given_back(sandbox: Path, data: Path) -> None:
    def propagating(mode: str) -> mesos_pb2.Volume:
        asked = mesos_pb2.MountPropagation(mode=mesos_pb2.MountPropagation.Mode.Value(mode))
        return host(data, "/srv", mount_propagation=asked)

    seen = await view_of(HOST, having(sandbox, propagating("HOST_TO_CONTAINER")))

    assert seen == mounts(Mount(source=str(data), target="/srv", options=("rbind", "rslave")))
    assert await refusal_of(HOST, having(sandbox, propagating("BIDIRECTIONAL"))) == (
        f"BIDIRECTIONAL mount propagation of HOST_PATH volume '{data}' is not supported: what is mounted in a "
        "container stays in it"
    )


@pytest.mark.parametrize("place", ["../x", "a/../../x", "/a/../x", "/.."])
async def test_no_container_path_leads_up(sandbox: Path, tree: Path, data: Path, place: str) -> None:
    for image in (tree, None):
        assert await refusal_of(HOST, having(sandbox, host(data, place), tree=image)) == (
            f"The container path '{place}' of a volume must not contain '..'"
        )
    assert not (sandbox.parent / "x").exists()


async def test_links_of_an_image_lead_to_places_of_the_image(sandbox: Path, tree: Path, data: Path) -> None:
    (tree / "run").mkdir()
    (tree / "var").mkdir()
    (tree / "var/run").symlink_to("/run")
    (tree / "out").symlink_to("../../../../etc")
    (tree / "abs").symlink_to("/etc")

    view = await view_of(
        HOST, having(sandbox, host(data, "/var/run/x"), host(data, "/out/x"), host(data, "/abs"), tree=tree)
    )

    assert view is not None
    assert [mount.target for mount in view.mounts] == ["/run/x", "/etc/x", "/etc"]


@pytest.mark.parametrize("place", ["/", "//", "/top", "/up", "/top/."])
async def test_no_volume_takes_the_place_of_the_root(sandbox: Path, tree: Path, data: Path, place: str) -> None:
    (tree / "top").symlink_to("/")
    (tree / "up").symlink_to("../..")

    assert await refusal_of(HOST, having(sandbox, host(data, place), tree=tree)) == (
        f"Mount point '{place}' is the root of the container"
    )


async def test_no_volume_takes_the_place_of_the_hosts_root(sandbox: Path, data: Path, tmp_path: Path) -> None:
    (tmp_path / "top").symlink_to("/")

    for place in ("/", f"{tmp_path}/top"):
        text = await refusal_of(HOST, having(sandbox, host(data, place)))
        assert text == f"Mount point '{place}' is the root of the container"


async def test_links_of_an_image_that_lead_nowhere_are_refused(sandbox: Path, tree: Path, data: Path) -> None:
    (tree / "a").symlink_to("b")
    (tree / "b").symlink_to("a")

    assert await refusal_of(HOST, having(sandbox, host(data, "/a/x"), tree=tree)) == (
        "Mount point '/a/x': links in the image lead to each other"
    )


@pytest.mark.parametrize("target", ["/etc", "elsewhere", ".."])
async def test_links_in_the_sandbox_are_not_followed(sandbox: Path, data: Path, target: str) -> None:
    (sandbox / "elsewhere").mkdir()
    (sandbox / "link").symlink_to(target)

    for place in ("link", "link/new"):
        text = await refusal_of(HOST, having(sandbox, host(data, place)))
        assert text.startswith(f"Failed to create mount point '{place}' in the sandbox: ")
    text = await refusal_of(HOST, having(sandbox, host(data / "file", "link")))
    assert text.startswith("Failed to create mount point 'link' in the sandbox: ")
    assert is_empty(sandbox / "elsewhere")


async def test_the_sandbox_itself_is_no_place_for_a_volume(sandbox: Path, data: Path) -> None:
    assert await refusal_of(HOST, having(sandbox, host(data, "."))) == (
        "Failed to create mount point '.' in the sandbox: the path leads out of the sandbox"
    )
