"""volume/image: the files of images in containers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from tests.agent.isolators.views import config, refusal_of, view_of
from tfmesos.agent.containerizer import ContainerConfig, ContainerId
from tfmesos.agent.images import ImageError, ImageRoot, ImageRuntime, Images, Provisioner, Root
from tfmesos.agent.isolators import Mount, View
from tfmesos.agent.isolators.volumes import ImageVolumeIsolator
from tfmesos.wire import mesos_pb2

V = mesos_pb2.Volume
SANDBOX = "/mnt/mesos/sandbox"


class Store:
    """Images and roots that are there at once; an image named `bad` is not."""

    def __init__(self, *, copies: bool = False) -> None:
        self.held: list[str] = []
        self.made: dict[ContainerId, int] = {}
        self._copies = copies

    async def provide(self, image: mesos_pb2.Image, *, holder: str) -> ImageRoot:
        name = image.docker.name
        if name == "bad":
            raise ImageError("no such image: bad")
        self.held.append(holder)
        return ImageRoot(image=name, digest="sha256:0", tree=f"/store:1/{name}", runtime=ImageRuntime())

    async def release(self, holder: str) -> None:
        self.held = [name for name in self.held if name != holder]

    async def make(self, container_id: ContainerId, image: ImageRoot, *, volume: int | None = None) -> Root:
        self.made[container_id] = self.made.get(container_id, 0) + 1
        place = f"/roots/{container_id}/{volume}"
        if self._copies:
            return Root(image=image, rootfs=f"{place}/rootfs")
        return Root(image=image, rootfs=f"{place}/r", lower=image.tree, upper=f"{place}/u", work=f"{place}/w")

    async def remove(self, container_id: ContainerId) -> None:
        self.made.pop(container_id, None)


def isolator_of(store: Store) -> ImageVolumeIsolator:
    return ImageVolumeIsolator(SANDBOX, cast("Images", store), cast("Provisioner", store))


def having(sandbox: Path, *volumes: tuple[str, str, Any]) -> ContainerConfig:
    given = config(has_image=True, directory=str(sandbox))
    assert given.container is not None
    for name, place, mode in volumes:
        volume = given.container.volumes.add(container_path=place, mode=mode)
        volume.image.type = mesos_pb2.Image.DOCKER
        volume.image.docker.name = name
    return given


async def test_what_is_only_read_is_the_image_itself_and_what_is_written_the_containers(sandbox: Path) -> None:
    given = having(sandbox, ("data", "/data", V.RO), ("tools", "tools", V.RW))

    view = await view_of(isolator_of(Store()), given)

    own = ("lowerdir=/store\\:1/tools", "upperdir=/roots/c/1/u", "workdir=/roots/c/1/w")
    assert view == View(
        mounts=(
            Mount(source="/store:1/data", target="/data", options=("bind", "ro")),
            Mount(source="overlay", target=f"{SANDBOX}/tools", type="overlay", options=own),
        )
    )
    assert (sandbox / "tools").is_dir()


async def test_a_copy_is_bound(sandbox: Path) -> None:
    view = await view_of(isolator_of(Store(copies=True)), having(sandbox, ("data", "/data", V.RW)))

    assert view == View(mounts=(Mount(source="/roots/c/0/rootfs", target="/data", options=("bind",)),))


@pytest.mark.parametrize("is_found_again", [True, False])
async def test_images_are_held_until_the_end_of_their_container(sandbox: Path, is_found_again: bool) -> None:
    store, given = Store(), having(sandbox, ("data", "/data", V.RO), ("tools", "/tools", V.RO))
    isolator = isolator_of(store)
    await isolator.prepare(given, {})
    assert store.held == ["c", "c"]
    if is_found_again:
        isolator = isolator_of(store)
        await isolator.recover({given.id: given}, set())

    await isolator.cleanup(ContainerId("another"))
    assert store.made == {given.id: 2}
    await isolator.cleanup(given.id)
    await isolator.cleanup(given.id)

    assert (store.held, store.made) == ([], {})


async def test_an_image_that_cannot_be_had_is_told_and_nothing_stays(sandbox: Path) -> None:
    store, given = Store(), having(sandbox, ("data", "/data", V.RO), ("bad", "/bad", V.RO))
    isolator = isolator_of(store)

    assert await refusal_of(isolator, given) == "no such image: bad"

    await isolator.cleanup(given.id)
    assert (store.held, store.made) == ([], {})


async def test_without_images_there_are_no_volumes_of_them(sandbox: Path) -> None:
    isolator = ImageVolumeIsolator(SANDBOX, None, None)

    assert await refusal_of(isolator, having(sandbox, ("data", "/data", V.RO))) == (
        "this agent has no images: start it with --image_providers=docker"
    )
