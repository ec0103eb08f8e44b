"""Mount points of containers that have the host's own files as their root."""

from __future__ import annotations

from pathlib import Path

from tests.agent.oci.conftest import Containers
from tfmesos.agent.isolators import Mount, View


async def test_no_mount_point_is_made_on_the_host(containers: Containers, tmp_path: Path) -> None:
    """Its sandbox may be another container's, whose programs put a link where the mount point was."""
    (tmp_path / "source").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "new")
    mount = Mount(source=str(tmp_path / "source"), target=str(tmp_path / "link"))

    termination = await containers.run("true", view=View(mounts=(mount,)))

    assert termination.wait_status is None
    assert termination.message is not None
    assert f"{tmp_path}/link: mount point " in termination.message
    assert not (tmp_path / "new").exists()


async def test_volumes_are_where_the_host_has_a_place_for_them(containers: Containers, tmp_path: Path) -> None:
    for name in ("source", "a, place", "read only"):
        (tmp_path / name).mkdir()
    for name in ("source/file", "one"):
        (tmp_path / name).write_text(f"{name}\n")
    mounts = (
        Mount(source=f"{tmp_path}/source", target=f"{tmp_path}/a, place", options=("rbind", "rslave")),
        Mount(source=f"{tmp_path}/source", target=f"{tmp_path}/read only", options=("rbind", "ro")),
        Mount(source=f"{tmp_path}/source/file", target=f"{tmp_path}/one", options=("bind", "ro")),
    )
    line = 'cd "$0"; cat "a, place/file" "read only/file" one; echo new > "a, place/new"; touch "read only/x"'

    termination = await containers.run("sh", "-c", line, str(tmp_path), view=View(mounts=mounts))

    assert termination.wait_status == 1 << 8
    assert containers.output() == "source/file\n" * 3
    assert "Read-only file system" in containers.errors()
    assert (tmp_path / "source/new").read_text() == "new\n"
    assert not any((tmp_path / "a, place").iterdir())
    assert (tmp_path / "one").read_text() == "one\n"
