"""What containers see of files, as isolators say it and the OCI runtime makes it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.isolators.containers import OUTSIDE, Containers, container, names_in, read, touch
from tests.agent.waiting import eventually
from tfmesos.agent import AgentFlags
from tfmesos.agent.assembly import build_containerizer
from tfmesos.agent.containerizer import LaunchFailed
from tfmesos.metrics import Metrics
from tfmesos.wire import mesos_pb2

pytestmark = [pytest.mark.root, pytest.mark.cgroups]

V = mesos_pb2.Volume
SECRET = "open-sesame-4711"


@pytest.fixture
def outside() -> Iterator[Path]:
    """What links of images name; nobody is to come here."""
    OUTSIDE.mkdir()
    yield OUTSIDE
    OUTSIDE.rmdir()


def volume(source: Path | str, place: str, mode: Any = V.RW) -> V:
    return V(host_path=str(source), container_path=place, mode=mode)


def of_value() -> mesos_pb2.Secret:
    return mesos_pb2.Secret(type=mesos_pb2.Secret.VALUE, value=mesos_pb2.Secret.Value(data=SECRET.encode()))


def shared_directory() -> V:
    """Of the sandbox around."""
    asked = V.Source.SandboxPath(type=V.Source.SandboxPath.PARENT, path="common")
    return V(source=V.Source(type=V.Source.SANDBOX_PATH, sandbox_path=asked), container_path="shared", mode=V.RW)


def host_mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def holding(directory: Path, besides: str) -> list[Path]:
    """The outermost directories or files that hold the secret and that nobody but root may enter or read."""
    found = []
    for path in directory.rglob("*"):
        if path.is_file() and not str(path).startswith(besides) and SECRET.encode() in path.read_bytes():
            closed = [one for one in (path, *path.parents) if one.stat().st_mode & 0o077 == 0]
            found.append(closed[-1] if closed else path)
    return found


async def test_files_of_the_host_are_where_they_were_asked_for(containers: Containers, host_data: Path) -> None:
    before = host_mounts()
    info = container(
        "box", volume(host_data, "/data"), volume(host_data / "file", "/etc/one"), volume(host_data, "in/sandbox", V.RO)
    )
    line = "cat /data/file /etc/one in/sandbox/file; ls /data; echo new > /data/new; echo no > in/sandbox/x || exit 0"

    said = await containers.output_of(containers.configure(line, info))

    assert said.splitlines()[:4] == ["of the host"] * 3 + ["file"]
    assert "Read-only file system" in said
    assert (host_data / "new").read_text() == "new\n"
    assert not (host_data / "x").exists()
    assert host_mounts() == before
    assert (host_data / "file").exists()  # what was mounted stays when the container goes


async def test_files_of_the_host_are_elsewhere_for_who_has_no_image(
    containers: Containers, host_data: Path, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    info = container(None, volume(host_data, str(place)), volume(host_data, "ro", V.RO))

    said = await containers.output_of(containers.configure(f"cat {place}/file ro/file; echo no > ro/x || exit 0", info))

    assert said.startswith("of the host\nof the host\n")
    assert names_in(place) == []
    assert names_in(host_data) == ["file"]


@pytest.mark.parametrize("place", ["/out/new", "/up/new", "/top/tmp/tfmesos-outside/new"])
async def test_links_of_an_image_lead_nowhere_on_the_host(
    containers: Containers, host_data: Path, outside: Path, place: str
) -> None:
    line = f"cat {outside}/new/file; ls {outside}; echo in > /mnt/mesos/sandbox/it"

    config = containers.configure(line, container("links", volume(host_data, place)))

    assert (await containers.output_of(config)).splitlines() == ["of the host", "hosts", "new", "sandbox"]
    assert read(config.directory, "it") == "in\n"
    assert names_in(outside) == []


async def test_a_link_of_an_image_to_its_root_is_no_place(containers: Containers, host_data: Path) -> None:
    text = await containers.refusal_of(containers.configure("true", container("links", volume(host_data, "/top"))))
    assert text == "Mount point '/top' is the root of the container"

    text = await containers.refusal_of(containers.configure("true", container("taken")))
    assert text == "Mount point '/mnt/mesos/sandbox' is the root of the container"


async def test_a_link_that_is_put_into_the_sandbox_is_no_place(
    containers: Containers, host_data: Path, outside: Path
) -> None:
    parent = await containers.start(containers.configure("sleep 1000", container("box")))
    sandbox = Path(parent.directory)
    (sandbox / "common").symlink_to(outside)
    shared = shared_directory()

    text = await containers.refusal_of(containers.configure("true", container("box", shared), parent.id))

    assert text == "Failed to create the directory 'common' of a SANDBOX_PATH volume: Not a directory"


@pytest.mark.parametrize("has_image", [True, False])
async def test_nested_containers_share_what_they_agree_on(containers: Containers, has_image: bool) -> None:
    parent = await containers.start(containers.configure("sleep 1000", container("box")))
    shared = shared_directory()
    image = "box" if has_image else None

    await containers.output_of(containers.configure("echo hi > shared/it", container(image, shared), parent.id))
    said = await containers.output_of(containers.configure("cat shared/it", container("box", shared), parent.id))

    assert said == "hi\n"
    assert read(parent.directory, "common/it") == "hi\n"


async def test_a_secret_is_seen_in_the_container_only(
    containers: Containers,
    flags: AgentFlags,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = of_value()
    source = V.Source(type=V.Source.SECRET, secret=secret)
    config = containers.configure(
        'cat /run/keys/it; echo; test "$KEY" = "$(cat /run/keys/it)" && echo same; echo told; sleep 1000',
        container("box", V(source=source, container_path="/run/keys/it", mode=V.RO)),
    )
    variables = config.command.environment.variables
    variables.add(name="KEY", type=mesos_pb2.Environment.Variable.SECRET, secret=secret)

    made = await containers.start(config)
    await eventually(lambda: "told" in read(made.directory, "stdout"))
    said = read(made.directory, "stdout")

    assert said.startswith(f"{SECRET}\nsame\n")
    assert all(file.stat().st_mode & 0o077 == 0 for file in holding(Path(flags.work_dir), made.directory))
    made.kill(0.0)
    await made.wait()
    containers.containerizer.forget(made.id)
    await containers.containerizer.close(end_detached=True)
    assert holding(Path(flags.work_dir), made.directory) == []
    assert SECRET not in caplog.text


@pytest.mark.parametrize("image", ["box", None])
async def test_files_of_an_image_are_a_volume(containers: Containers, flags: AgentFlags, image: str | None) -> None:
    def of_image(place: str, mode: Any) -> V:
        files = mesos_pb2.Image(type=mesos_pb2.Image.DOCKER, docker=mesos_pb2.Image.Docker(name="files"))
        return V(image=files, container_path=place, mode=mode)

    line = "cat ro/f rw/f; echo own > rw/f; cat rw/f ro/f; echo no > ro/f || exit 0"
    info = container(image, of_image("ro", V.RO), of_image("rw", V.RW))

    said = await containers.output_of(containers.configure(line, info))

    assert said.startswith("in a volume\nin a volume\nown\nin a volume\n")
    assert "Read-only file system" in said
    assert names_in(Path(flags.work_dir, "provisioner/containers")) == []


async def test_what_a_container_was_given_is_taken_back_by_the_next_agent(
    containers: Containers, flags: AgentFlags
) -> None:
    files = mesos_pb2.Image(type=mesos_pb2.Image.DOCKER, docker=mesos_pb2.Image.Docker(name="files"))
    secret = V(source=V.Source(type=V.Source.SECRET, secret=of_value()), container_path="key", mode=V.RO)
    info = container("box", V(image=files, container_path="files", mode=V.RW), secret)
    line = "until test -e go; do sleep 0.05; done; cat key files/f"
    config = replace(containers.configure(line, info), checkpoint=True)
    await containers.start(config)
    await containers.containerizer.close()

    following = await build_containerizer(flags, Metrics())
    await following.start()
    await following.recover([config.id])
    made = following.find(config.id)
    assert made is not None
    touch(config.directory, "go")
    end = await made.wait()

    assert (end.wait_status, read(config.directory, "stdout")) == (0, f"{SECRET}in a volume\n")
    following.forget(config.id)
    await following.close()
    for place in ("run/secrets", "run/containers", "run/oci/bundles", "provisioner/containers"):
        assert names_in(Path(flags.work_dir, place)) == []
    assert holding(Path(flags.work_dir), config.directory) == []


async def test_no_race_gets_a_nested_container_out_of_the_sandbox_around_it(
    containers: Containers, outside: Path
) -> None:
    (outside / "of-host").touch()
    swap = f"mkdir common; while :; do mv common dir; ln -s {outside} common; rm common; mv dir common; done"
    parent = await containers.start(containers.configure(swap, container("box")))
    info = container("box", shared_directory())
    came = []

    for _ in range(12):
        config = containers.configure("ls shared; echo came", info, parent.id)
        with suppress(LaunchFailed):
            nested = await containers.start(config)
            await nested.wait()
            came.append(read(nested.directory, "stdout"))

    parent.kill(0.0)
    await parent.wait()
    (outside / "of-host").unlink()
    assert not any("of-host" in said for said in came)
