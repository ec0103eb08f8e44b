"""How containers begin, and what hinders them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.oci.conftest import IMAGE_MOUNTS, Containers
from tests.agent.oci.seen import text
from tfmesos.agent.containerizer import ContainerId, LaunchFailed
from tfmesos.agent.images import Root
from tfmesos.agent.isolators import Hook, Mount, View

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

IMAGE = View(mounts=IMAGE_MOUNTS)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("nope", "executable file not found in $PATH"),
        ("/nope", "stat /nope: no such file or directory"),
        ("/etc/passwd", "permission denied"),
        ("/etc", "permission denied"),
    ],
)
async def test_a_program_that_cannot_be_executed_counts_as_exit_status_1(
    containers: Containers, program: str, reason: str
) -> None:
    termination = await containers.run(program, "argument", view=View())
    assert (termination.wait_status, termination.message) == (1 << 8, f"cannot execute '{program}': {reason}")
    assert containers.errors().endswith(f"\n{termination.message}\n")


NAMED = ("-c", 'printf "%s|" "$0" "$@"; ls /proc/self/fd', "ü", "", "x y")


@pytest.mark.parametrize("executable", ["/bin/{}", "{}", "../bin/{}"])
@pytest.mark.parametrize("has_image", [True, False])
async def test_a_program_may_have_any_name(
    containers: Containers, root: Root, executable: str, *, has_image: bool
) -> None:
    # given an image whose only program goes by its name, or the host
    given: dict[str, Any] = {"root": root, "view": IMAGE} if has_image else {"view": View()}
    file, name = ("busybox", "sh") if has_image else ("sh", "-a name")
    await containers.start("sleep", "1000", name="around", **given)
    # when it is executed by its path, from the PATH, or beside the working directory
    given |= {"executable": executable.format(file), "directory": "/tmp"}
    await containers.run(name, *NAMED, **given)
    await containers.run(name, *NAMED, name="d", parent=ContainerId("around"), is_debug=True, **given)
    # then it has its name and arguments, and no descriptor more
    assert containers.output() == containers.output("d") == "ü||x y|0\n1\n2\n3\n"


async def test_a_program_with_a_name_that_cannot_be_executed_ends_so(containers: Containers) -> None:
    termination = await containers.run("name", executable="nope", view=View())
    assert termination.wait_status == 1 << 8
    assert containers.errors() == "cannot execute 'nope': No such file or directory\n"


async def test_a_script_without_an_interpreter_is_for_the_shell(containers: Containers, sandbox: Path) -> None:
    (sandbox / "script").write_text("echo $0 $1\n")
    (sandbox / "script").chmod(0o755)
    await containers.run("name", "x", executable=f"{sandbox}/script", view=View(), uid=12345, gid=12345)
    assert containers.output() == f"{sandbox}/script x\n"


async def test_what_cannot_be_mounted_is_told(containers: Containers, root: Root) -> None:
    missing = Mount(source="/nope", target="/mnt")
    termination = await containers.run("true", root=root, view=View(mounts=(*IMAGE_MOUNTS, missing)))
    assert termination.wait_status is None
    assert termination.message is not None
    assert 'error mounting "/nope" to rootfs at "/mnt"' in termination.message


async def test_a_root_that_cannot_be_made_is_told(containers: Containers, root: Root) -> None:
    termination = await containers.run("true", root=replace(root, lower='/no/tr"ee'), view=IMAGE)
    assert termination.wait_status is None
    assert termination.message is not None
    assert termination.message.startswith("cannot make the container: mount: ")


async def test_what_is_no_text_is_refused(containers: Containers) -> None:
    with pytest.raises(LaunchFailed, match="not UTF-8"):
        await containers.start("echo", os.fsdecode(b"\xff"), view=View())


async def test_a_source_that_must_be_beneath_is_mounted(containers: Containers, root: Root, tmp_path: Path) -> None:
    (tmp_path / "sand, box/a:b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "sand, box")
    source = Mount(source=f"{tmp_path}/link/a:b", target="/volume", beneath=f"{tmp_path}/link")
    await containers.run("touch", "/volume/new", root=root, view=View(mounts=(*IMAGE_MOUNTS, source)))
    assert os.listdir(tmp_path / "sand, box/a:b") == ["new"]


async def test_a_source_that_is_reached_through_a_link_is_none(
    containers: Containers, root: Root, tmp_path: Path
) -> None:
    # given a sandbox in which a directory was replaced by a link
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "secret/below").mkdir(parents=True)
    (tmp_path / "sandbox/a").symlink_to(tmp_path / "secret")
    for source in ("a", "a/below"):
        # when it is to be mounted
        mount = Mount(source=f"{tmp_path}/sandbox/{source}", target="/volume", beneath=f"{tmp_path}/sandbox")
        termination = await containers.run("true", name=source[-1], root=root, view=View(mounts=(*IMAGE_MOUNTS, mount)))
        # then nothing runs
        message = f"cannot make the container: {tmp_path}/sandbox/{source}: a link is in the way"
        assert (termination.wait_status, termination.message) == (None, message)


async def test_a_directory_of_the_containers_own_is_made_for_it(containers: Containers, root: Root) -> None:
    await containers.run("pwd", root=root, view=IMAGE, directory="/mnt/mesos/sandbox")
    assert containers.output() == "/mnt/mesos/sandbox\n"


@pytest.mark.parametrize("name", ["t\u00fcv:1@2", "x" * 242, "-c", "a+b,c=d"])
async def test_a_container_may_have_any_id(containers: Containers, root: Root, name: str) -> None:
    files: dict[str, Any] = {"stdout": f"{containers.sandbox}/out", "stderr": f"{containers.sandbox}/err"}
    assert (await containers.run("true", name=name, root=root, view=IMAGE, **files)).wait_status == 0


async def test_links_in_an_image_lead_no_mount_out_of_it(containers: Containers, root: Root, tmp_path: Path) -> None:
    # given an image with links that lead to the host's directories, seen from it
    (tmp_path / "host").mkdir()
    (tmp_path / "source").mkdir()
    upper = Path(str(root.upper))
    (upper / "absolute").symlink_to(tmp_path / "host")
    (upper / "relative").symlink_to("../" * 20 + str(tmp_path / "host"))
    # when volumes are to be there
    source = str(tmp_path / "source")
    volumes = tuple(Mount(source=source, target=target) for target in ("/absolute/x", "/relative/y"))
    script = f"touch /absolute/x/1 /relative/y/2; ls {tmp_path}/host"
    await containers.run("sh", "-c", script, root=root, view=View(mounts=(*IMAGE_MOUNTS, *volumes)))
    # then they are where the links lead inside it
    assert containers.output() == "x\ny\n"
    assert sorted(os.listdir(source)) == ["1", "2"]
    assert os.listdir(tmp_path / "host") == []


@pytest.mark.parametrize("stage", ["createRuntime", "poststop"])
async def test_hooks_are_run(containers: Containers, root: Root, tmp_path: Path, stage: str) -> None:
    hook = Hook(
        stage=stage,
        path="/bin/sh",
        arguments=("sh", "-c", f'echo "$A" > {tmp_path}/hook', "sh"),
        environment=("A=b",),
        timeout_s=10,
    )
    await containers.run("true", root=root, view=View(mounts=IMAGE_MOUNTS, hooks=(hook,)))
    assert text(f"{tmp_path}/hook") == "b\n"
