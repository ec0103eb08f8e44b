"""What images of a store are kept, and which go."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.agent.images.store_of import greeting, image_of, images_of, is_clean, mounted, trees_of
from tests.agent.waiting import eventually
from tests.images import File, Image, layers_of, saved_archive
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.images import ImageError, Images
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

pytestmark = [pytest.mark.root]


@pytest.fixture
def archives(tmp_path: Path) -> str:
    """A directory with the images one, two and three."""
    for name in ("one", "two", "three"):
        image = Image(layers=layers_of({"etc/greeting": File(content=name.encode())}))
        saved_archive(tmp_path / f"archives/{name}.tar", image, f"{name}:latest")
    return str(tmp_path / "archives")


async def test_prune_leaves_what_is_held_and_what_is_excluded(tmp_path: Path, archives: str) -> None:
    async with images_of(tmp_path, docker_registry=archives) as images:
        one, two, three = [await images.provide(image_of(name), holder=name) for name in ("one", "two", "three")]
        await images.release("two")
        await images.release("three")
        await images.prune([image_of("three")])
        assert trees_of(tmp_path) == sorted([one.digest, three.digest])
        await images.release("one")
        await images.prune()
        assert trees_of(tmp_path) == []
        assert (await images.usage()).used == 0
        numbers = images.numbers()
        assert numbers["containerizer/mesos/provisioner/docker_store/image_pull_ms/count"] == 3
        assert numbers["containerizer/mesos/provisioner/docker_store/images"] == 0
        # And what was removed is pulled again
        assert (await images.provide(image_of("two"), holder="again")).digest == two.digest
    assert is_clean(tmp_path)


async def test_one_holder_may_hold_several_and_an_image_may_have_several_holders(tmp_path: Path, archives: str) -> None:
    async with images_of(tmp_path, docker_registry=archives) as images:
        for name in ("one", "two"):
            await images.provide(image_of(name), holder="both")
        one = await images.provide(image_of("one"), holder="other")
        await images.release("both")
        await images.release("both")
        await images.release("nobody")
        await images.prune()
        assert trees_of(tmp_path) == [one.digest]


async def test_the_next_agent_holds_what_its_containers_hold(tmp_path: Path, archives: str) -> None:
    async with images_of(tmp_path, docker_registry=archives) as before:
        one = await before.provide(image_of("one"), holder="c1")
        await before.provide(image_of("two"), holder="c2")
    # Given that this agent is gone, while c1 runs on, another one of the machine removes nothing of either
    async with images_of(tmp_path, agent="other", docker_registry=archives) as other:
        await other.prune()
        assert len(trees_of(tmp_path)) == 2
        # When the next agent has found c1 only
        async with images_of(tmp_path, docker_registry=archives) as after:
            await after.recover({"c1"})
            await other.prune()
            assert trees_of(tmp_path) == [one.digest]
            await after.release("c1")
            await other.prune()
            assert trees_of(tmp_path) == []


async def test_an_agent_that_was_removed_with_its_work_directory_holds_nothing(tmp_path: Path, archives: str) -> None:
    async with images_of(tmp_path, docker_registry=archives) as gone:
        await gone.provide(image_of("one"), holder="c1")
    shutil.rmtree(tmp_path / "agent")
    async with images_of(tmp_path, agent="other", docker_registry=archives) as other:
        await other.prune()
    assert trees_of(tmp_path) == []


async def test_agents_that_share_a_store_pull_once_and_respect_each_other(tmp_path: Path, archives: str) -> None:
    async with (
        images_of(tmp_path, docker_registry=archives) as mine,
        images_of(tmp_path, agent="other", docker_registry=archives) as other,
    ):
        roots = await asyncio.gather(*(images.provide(image_of("one"), holder="c") for images in (mine, other)))
        assert roots[0] == roots[1]
        await mine.release("c")
        await mine.prune()
        assert greeting(roots[1]) == b"one"


async def test_pulls_and_prunes_at_once_never_take_an_image_away(tmp_path: Path, archives: str) -> None:
    async def hold(images: Images, number: int) -> None:
        root = await images.provide(image_of("one"), holder=f"c{number}")
        assert greeting(root) == b"one"
        await images.release(f"c{number}")

    async with images_of(tmp_path, docker_registry=archives) as images:
        for round_number in range(4):
            await asyncio.gather(*(hold(images, number) for number in range(4)), images.prune())
            assert (await images.usage()).images <= 1, round_number
    assert is_clean(tmp_path)


async def test_gc_begins_when_the_disk_is_full_enough(tmp_path: Path, archives: str) -> None:
    config = (
        '{"image_disk_headroom":%s,"image_disk_watch_interval":{"nanoseconds":10000000},'
        '"excluded_images":[{"type":"DOCKER","docker":{"name":"two"}}]}'
    )
    async with images_of(tmp_path, docker_registry=archives, image_gc_config=config % "0.0") as images:
        for name in ("one", "two", "three"):
            await images.provide(image_of(name), holder=name)
            await images.release(name)
        images.begin()
        await asyncio.sleep(0)
    assert len(trees_of(tmp_path)) == 3, "no share of the disk is to be kept free"
    async with images_of(tmp_path, docker_registry=archives, image_gc_config=config % "1.0") as images:
        three = await images.provide(image_of("three"), holder="c")
        images.begin()
        await eventually(lambda: len(trees_of(tmp_path)) == 2)
        assert three.digest in trees_of(tmp_path)


async def test_records_that_cannot_be_read_cost_a_pull_only(
    tmp_path: Path, archives: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with images_of(tmp_path, docker_registry=archives) as images:
        one = await images.provide(image_of("one"), holder="c1")
        (tmp_path / "store/images.json").write_text("{")
        assert await images.provide(image_of("one"), holder="c2") == one
    assert "images.json cannot be read, so images are pulled again" in caplog.text
    for mark in (tmp_path / "agent/provisioner/holders").iterdir():
        mark.write_text("[]")
    async with images_of(tmp_path, docker_registry=archives) as images:
        await images.recover({"c1", "c2"})
        await images.prune()
    assert trees_of(tmp_path) == []


async def test_a_name_that_cannot_be_written_fails_the_pull(tmp_path: Path, archives: str) -> None:
    async with images_of(tmp_path, docker_registry=archives) as images:
        (tmp_path / f"store/images.json.{os.getpid()}").mkdir()
        with pytest.raises(ImageError, match=r"its name cannot be kept in .*/store: Is a directory"):
            await images.provide(image_of("one"), holder="c1")


async def test_a_disk_that_is_full_when_a_pull_begins_leaves_nothing(tmp_path: Path, archives: str) -> None:
    (tmp_path / "store").mkdir()
    with mounted(tmp_path / "store", "1m,nr_inodes=6"):
        async with images_of(tmp_path, docker_registry=archives) as images:
            with pytest.raises(ImageError, match="No space left on device"):
                await images.provide(image_of("one"), holder="c1")
            assert is_clean(tmp_path)


async def test_a_store_that_somebody_else_has_made_meanwhile_gives_nothing(tmp_path: Path, archives: str) -> None:
    async with images_of(tmp_path, docker_registry=archives) as images:
        await images.provide(image_of("one"), holder="c1")
        await images.release("c1")
        os.chown(tmp_path / "store", 12345, 12345)
        for name in ("one", "two"):
            with pytest.raises(ImageError, match="store belongs to somebody else"):
                await images.provide(image_of(name), holder="c2")
        os.chown(tmp_path / "store", 0, 0)


async def test_appc_and_secrets_by_reference_are_refused(tmp_path: Path, archives: str) -> None:
    async with images_of(tmp_path) as images:
        with pytest.raises(ImageError, match="Unsupported container image type: APPC"):
            await images.provide(mesos_pb2.Image(type=mesos_pb2.Image.APPC), holder="c")
        image = image_of("one")
        image.docker.config.type = mesos_pb2.Secret.REFERENCE
        image.docker.config.reference.name = "vault"
        with pytest.raises(ImageError, match="has to be a secret of type VALUE"):
            await images.provide(image, holder="c")


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ({"docker_registry": "ftp://x"}, "--docker_registry: "),
        ({"docker_store_dir": "/tmp/a:b"}, "has a ':', which skopeo and umoci take for a tag"),
        ({"docker_store_dir": "/proc/store"}, "--docker_store_dir: cannot use /proc/store"),
        ({"docker_config": '{"auths":{"h":{"auth":"?"}}}'}, "--docker_config: "),
        (
            {"image_gc_config": '{"excluded_images":[{"docker":{"name":"A B"}}]}'},
            "--image_gc_config: Failed to parse docker image 'A B'",
        ),
    ],
)
def test_an_agent_does_not_start_with_what_cannot_work(tmp_path: Path, flags: dict[str, str], text: str) -> None:
    given = {"work_dir": str(tmp_path), "docker_store_dir": str(tmp_path / "store"), **flags}
    with pytest.raises(BadAgentFlags) as raised:
        Images.open(AgentFlags(master="m", image_providers=("DOCKER",), **given), Supervisors(), {})  # type: ignore[arg-type]
    assert text in str(raised.value)


def test_a_tool_that_is_missing_is_named_with_its_package(tmp_path: Path) -> None:
    flags = AgentFlags(master="m", work_dir=str(tmp_path), image_providers=("DOCKER",))
    with pytest.raises(BadAgentFlags, match=r"skopeo is not installed \(on Debian: apt-get install skopeo\)"):
        Images.open(flags, Supervisors(), {"PATH": str(tmp_path)})


def test_without_image_providers_there_are_no_images(tmp_path: Path) -> None:
    flags = AgentFlags(master="m", work_dir=str(tmp_path), docker_store_dir=str(tmp_path / "store"))
    assert Images.open(flags, Supervisors(), {}) is None
    assert not (tmp_path / "store").exists()
