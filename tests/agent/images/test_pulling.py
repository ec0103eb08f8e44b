"""Images from registries that run: all forms, all kinds of layers, all ways to say no."""

from __future__ import annotations

import asyncio
import io
import json
import os
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.agent.images.store_of import greeting, image_of, images_of, is_clean, mounted, trees_of
from tests.agent.waiting import eventually
from tests.images import (
    Compression,
    Directory,
    Entry,
    File,
    Form,
    Image,
    Layer,
    Node,
    Opaque,
    Symlink,
    Whiteout,
    layers_of,
    pack,
)
from tests.registry import Credentials, FakeRegistry, Registry, StartRegistry
from tests.registry.fake import Challenge
from tfmesos.agent.images import ImageError, ImageRoot
from tfmesos.wire import mesos_pb2

pytestmark = [pytest.mark.root]


def _image(content: bytes = b"hello\n") -> Image:
    return Image(
        layers=layers_of({"etc/greeting": File(content=content)}),
        environment=("A=1", "B=x=y", "no-value"),
        entrypoint=("/bin/run", "it"),
        cmd=("all", ""),
        working_directory="/srv",
        user="1000:100",
        labels={"maker": "tests"},
    )


async def _provide(folder: Path, name: str, **flags: Any) -> ImageRoot:
    async with images_of(folder, **flags) as images:
        return await images.provide(image_of(name), holder="c1")


@pytest.mark.parametrize("form", ["docker", "docker-list", "oci", "oci-index"])
async def test_an_image_of_every_form_is_this_machines(registry: Registry, tmp_path: Path, form: Form) -> None:
    # I1: an index has arm64 first, whose layer nobody could unpack, and attestations
    packed = pack(_image(), form)
    registry.push(packed, f"forms/{form}:1")
    root = await _provide(tmp_path, f"{registry.host}/forms/{form}:1")
    assert greeting(root) == b"hello\n"
    assert root.image == f"{registry.host}/forms/{form}:1"
    expected = packed.manifests[-1 if len(packed.manifests) == 1 else 1]
    assert root.digest == expected.digest, "the key is the digest of the manifest for this machine"
    assert root.runtime.environment == ("A=1", "B=x=y", "no-value")
    assert (root.runtime.entrypoint, root.runtime.cmd) == (("/bin/run", "it"), ("all", ""))
    assert (root.runtime.working_directory, root.runtime.user) == ("/srv", "1000:100")
    assert root.runtime.labels == {"maker": "tests"}
    assert is_clean(tmp_path)


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
async def test_layers_of_every_compression_are_unpacked(
    registry: Registry, tmp_path: Path, compression: Compression
) -> None:
    # I2
    registry.push(pack(_image(), "oci", compression=compression), f"layers/{compression}:1")
    root = await _provide(tmp_path, f"{registry.host}/layers/{compression}:1")
    assert greeting(root) == b"hello\n"


async def test_an_image_is_asked_for_by_digest_of_it_or_of_its_index(registry: Registry, tmp_path: Path) -> None:
    packed = pack(_image(), "oci-index")
    registry.push(packed, "by-digest:1")
    mine = packed.manifests[1].digest
    for digest in (packed.digest, mine):
        root = await _provide(tmp_path, f"{registry.host}/by-digest:ignored@{digest}")
        assert root.digest == mine
    assert trees_of(tmp_path) == [mine]


async def test_whiteouts_hide_what_is_beneath_and_are_not_seen(registry: Registry, tmp_path: Path) -> None:
    # I8
    lowest: dict[str, Entry] = {
        "d/a": File(content=b"a"),
        "d/b": File(content=b"b"),
        "e/x": File(),
        "link": Symlink(target="d"),
    }
    image = Image(layers=layers_of(lowest, {"d/a": Whiteout(), "e": Whiteout()}, {"d": Opaque(), "d/c": File()}))
    registry.push(image, "whiteouts:3")
    registry.push(Image(layers=image.layers[:2]), "whiteouts:2")
    third = await _provide(tmp_path, f"{registry.host}/whiteouts:3")
    assert sorted(os.listdir(third.tree)) == ["d", "link"]
    assert os.listdir(f"{third.tree}/d") == ["c"]
    second = await _provide(tmp_path, f"{registry.host}/whiteouts:2")
    assert os.listdir(f"{second.tree}/d") == ["b"]
    assert not [name for tree in (second.tree, third.tree) for name in _names_in(tree) if name.startswith(".wh.")]


async def test_owners_modes_links_and_nodes_are_kept(registry: Registry, tmp_path: Path) -> None:
    content: dict[str, Entry] = {
        "bin/su": File(content=b"#!", mode=0o4755),
        "home/me": Directory(mode=0o700, uid=1000, gid=100),
        "tmp": Directory(mode=0o1777),
        "dev/null": Node(major=1, minor=3),
        "absolute": Symlink(target="/etc/passwd"),
    }
    registry.push(Image(layers=layers_of(content)), "modes:1")
    tree = Path((await _provide(tmp_path, f"{registry.host}/modes:1")).tree)
    assert stat.S_IMODE((tree / "bin/su").stat().st_mode) == 0o4755
    home = (tree / "home/me").stat()
    assert (stat.S_IMODE(home.st_mode), home.st_uid, home.st_gid) == (0o700, 1000, 100)
    assert stat.S_IMODE((tree / "tmp").stat().st_mode) == 0o1777
    assert (tree / "dev/null").stat().st_rdev == os.makedev(1, 3)
    assert os.readlink(tree / "absolute") == "/etc/passwd"
    assert stat.S_IMODE((tmp_path / "store/trees").stat().st_mode) == 0o700, "su must not be there for everybody"


async def test_directories_that_no_layer_names_are_for_everybody(registry: Registry, tmp_path: Path) -> None:
    # Given an agent whose own files are for nobody else, and a layer with a file alone
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("opt/deep/file"))
    registry.push(Image(layers=(Layer(content.getvalue()),)), "bare:1")
    before = os.umask(0o077)
    try:
        tree = (await _provide(tmp_path, f"{registry.host}/bare:1")).tree
    finally:
        os.umask(before)
    assert [stat.S_IMODE(os.stat(path).st_mode) for path in (tree, f"{tree}/opt", f"{tree}/opt/deep")] == [0o755] * 3


async def test_what_does_not_fit_when_it_is_unpacked_is_said_and_leaves_nothing(
    fake_registry: FakeRegistry, tmp_path: Path
) -> None:
    # Given an image that is small when it is fetched, and a disk on which it is not
    fake_registry.put(Image(layers=layers_of({"zeros": File(content=bytes(8 * 1024**2))})), "zeros:1")
    folder = tmp_path / "disk"
    folder.mkdir()
    with mounted(folder, "2m"):
        with pytest.raises(ImageError, match=r"Failed to unpack image '.*/zeros:1': .*no space left on device"):
            await _provide(folder, f"{fake_registry.host}/zeros:1")
        assert is_clean(folder)
        assert trees_of(folder) == []


async def test_a_layer_may_come_twice_and_there_may_be_none(registry: Registry, tmp_path: Path) -> None:
    registry.push(Image(layers=layers_of({"a": File()}, {"a": Whiteout()}, {"a": File()})), "twice:1")
    root = await _provide(tmp_path, f"{registry.host}/twice:1")
    assert os.listdir(root.tree) == ["a"]
    registry.push(Image(layers=()), "empty:1")
    root = await _provide(tmp_path, f"{registry.host}/empty:1")
    assert os.listdir(root.tree) == []


async def test_127_layers_are_one_tree(fake_registry: FakeRegistry, tmp_path: Path) -> None:
    # I10
    fake_registry.put(Image(layers=layers_of(*({f"layer/{i}": File()} for i in range(127)))), "many:127")
    root = await _provide(tmp_path, f"{fake_registry.host}/many:127")
    assert len(os.listdir(f"{root.tree}/layer")) == 127


async def test_without_a_tag_it_is_the_latest_and_without_a_registry_the_agents(
    registry: Registry, tmp_path: Path
) -> None:
    registry.push(_image(), "plain:latest")
    root = await _provide(tmp_path, "plain", docker_registry=registry.url)
    assert root.image == "plain"


async def test_a_cached_image_is_not_asked_for_again_unless_the_task_says_so(
    registry: Registry, tmp_path: Path
) -> None:
    registry.push(_image(b"old"), "cached:1")
    name = f"{registry.host}/cached:1"
    async with images_of(tmp_path) as images:
        old = await images.provide(image_of(name), holder="c1")
        registry.push(_image(b"new"), "cached:1")
        assert await images.provide(image_of(name), holder="c2") == old
        new = await images.provide(image_of(name, cached=False), holder="c3")
        assert greeting(new) == b"new"
        assert greeting(old) == b"old", "c1 still has it"
        assert await images.provide(image_of(name), holder="c4") == new
        assert trees_of(tmp_path) == sorted([old.digest, new.digest])


async def test_many_who_want_a_new_image_at_once_wait_for_one_pull(registry: Registry, tmp_path: Path) -> None:
    registry.push(_image(), "at-once:1")
    async with images_of(tmp_path) as images:
        image = image_of(f"{registry.host}/at-once:1")
        roots = await asyncio.gather(*(images.provide(image, holder=f"c{number}") for number in range(8)))
        assert len({root.tree for root in roots}) == 1
    assert registry.pulls_of("at-once") == 2, "skopeo looks at the manifest, and copies what it names"


async def test_a_pull_goes_on_while_one_wants_it_and_ends_with_the_last(
    fake_registry: FakeRegistry, tmp_path: Path
) -> None:
    fake_registry.put(_image(), "slow:1")
    fake_registry.gate.clear()
    async with images_of(tmp_path) as images:
        image = image_of(f"{fake_registry.host}/slow:1")
        first, second = (asyncio.create_task(images.provide(image, holder=name)) for name in ("c1", "c2"))
        await _blob_asked_for(fake_registry)
        first.cancel()
        await asyncio.wait([first])
        fake_registry.gate.set()
        assert greeting(await second)

        fake_registry.put(_image(b"other"), "slow:2")
        fake_registry.gate.clear()
        fake_registry.asked.clear()
        third = asyncio.create_task(images.provide(image_of(f"{fake_registry.host}/slow:2"), holder="c3"))
        await _blob_asked_for(fake_registry)
        third.cancel()
        await asyncio.wait([third])
    assert is_clean(tmp_path)
    assert len(trees_of(tmp_path)) == 1


async def _blob_asked_for(registry: FakeRegistry) -> None:
    await eventually(lambda: any("/blobs/" in asked.path for asked in registry.asked))


def _names_in(tree: str) -> list[str]:
    return [path.name for path in Path(tree).rglob("*")]


def _files_with(folder: Path, content: bytes) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and content in path.read_bytes()]


@pytest.mark.parametrize(
    ("challenge", "key"),
    [("basic", "{host}"), ("bearer", "https://{host}/v1/"), ("bearer-without-scope", "http://{host}")],
)
async def test_credentials_open_every_kind_of_door(
    fake_registry: FakeRegistry, tmp_path: Path, challenge: Challenge, key: str
) -> None:
    # I4
    fake_registry.challenge, fake_registry.credentials = challenge, Credentials()
    fake_registry.put(_image(), "team/secret:1")
    config = {"auths": {key.format(host=fake_registry.host): {"auth": Credentials().basic}}}
    root = await _provide(tmp_path, f"{fake_registry.host}/team/secret:1", docker_config=json.dumps(config))
    assert greeting(root)


@pytest.mark.parametrize("challenge", ["none", "bearer", "bearer-without-scope"])
async def test_a_public_image_needs_no_credentials(
    fake_registry: FakeRegistry, tmp_path: Path, challenge: Challenge
) -> None:
    fake_registry.challenge = challenge
    fake_registry.put(_image(), "public:1")
    assert await _provide(tmp_path, f"{fake_registry.host}/public:1", docker_config='{"auths":{}}')


@pytest.mark.parametrize("challenge", ["basic", "bearer"])
async def test_a_wrong_password_is_told_without_the_password(
    fake_registry: FakeRegistry, tmp_path: Path, challenge: Challenge, caplog: pytest.LogCaptureFixture
) -> None:
    fake_registry.challenge, fake_registry.credentials = challenge, Credentials()
    fake_registry.put(_image(), "team/secret:1")
    wrong = Credentials(password="wrong-and-not-to-be-seen")
    config = json.dumps({"auths": {fake_registry.host: {"auth": wrong.basic}}})
    name = f"{fake_registry.host}/team/secret:1"
    with pytest.raises(ImageError, match="unauthorized") as raised:
        await _provide(tmp_path, name, docker_config=config)
    assert str(raised.value).startswith(f"Failed to pull image '{name}' from registry {fake_registry.host}: ")
    assert "not-to-be-seen" not in str(raised.value) + caplog.text
    assert wrong.basic not in str(raised.value) + caplog.text
    assert is_clean(tmp_path)


async def test_a_task_has_credentials_of_its_own_and_they_are_nowhere_on_the_disk(
    start_registry: StartRegistry, tmp_path: Path
) -> None:
    registry = start_registry(credentials=Credentials())
    registry.push(_image(), "own:1")
    name = f"{registry.host}/own:1"
    async with images_of(tmp_path) as images:
        with pytest.raises(ImageError, match=r"no basic auth credentials|unauthorized|authentication required"):
            await images.provide(image_of(name), holder="c1")
        await images.provide(image_of(name, config=registry.docker_config), holder="c2")
    assert not _files_with(tmp_path, Credentials().basic.encode())


async def test_a_registry_with_tls_is_trusted_by_its_certificate_only(
    start_registry: StartRegistry, tmp_path: Path
) -> None:
    registry = start_registry(has_tls=True, credentials=Credentials())
    registry.push(_image(), "tls:1")
    flags = {"docker_registry": registry.url, "docker_config": registry.docker_config}
    with pytest.raises(ImageError, match="certificate"):
        await _provide(tmp_path, "tls:1", **flags)
    trusting = {"SSL_CERT_FILE": str(registry.certificate)}
    assert await _provide(tmp_path, "tls:1", **flags, environment=trusting)


async def test_an_image_that_is_not_there_is_said_at_once(registry: Registry, tmp_path: Path) -> None:
    name = f"{registry.host}/nobody/has:this"
    with pytest.raises(ImageError) as raised:
        await _provide(tmp_path, name)
    text = str(raised.value)
    assert text.startswith(f"Failed to pull image '{name}' from registry {registry.host}: ")
    assert "manifest unknown" in text
    assert "\n" not in text


async def test_a_registry_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"from registry 127\.0\.0\.1:1: .*connection refused"):
        await _provide(tmp_path, "127.0.0.1:1/x:1")


async def test_a_manifest_of_schema_1_is_refused_with_a_remedy(fake_registry: FakeRegistry, tmp_path: Path) -> None:
    # I3
    fake_registry.is_schema_1 = True
    with pytest.raises(ImageError, match="schema 1, which is not supported; push it again"):
        await _provide(tmp_path, f"{fake_registry.host}/old:1")


@pytest.mark.parametrize(
    "content",
    [
        b'{"layers":' * 100_000,
        b'{"config":{"mediaType":"\\ud800"},"layers":[]}',
        b'{"manifests":[{"digest":"%b"}]}' % (b"x" * 100_000),
    ],
)
async def test_whatever_a_registry_says_a_framework_can_be_told(
    fake_registry: FakeRegistry, tmp_path: Path, content: bytes
) -> None:
    packed = pack(_image())
    said = type(packed.top)(media_type=packed.top.media_type, content=content)
    fake_registry.put(type(packed)(blobs=packed.blobs, manifests=(said,)), "odd:1")
    with pytest.raises(ImageError) as failed:
        await _provide(tmp_path, f"{fake_registry.host}/odd:1")
    assert len(mesos_pb2.TaskStatus(message=str(failed.value)).message) < 2000


async def test_an_index_without_this_machine_says_what_it_has(registry: Registry, tmp_path: Path) -> None:
    packed = pack(_image(), "oci-index")
    index = json.loads(packed.top.content)
    index["manifests"] = [entry for entry in index["manifests"] if entry["platform"]["architecture"] != "amd64"]
    changed = type(packed.top)(media_type=packed.top.media_type, content=json.dumps(index).encode())
    registry.push(type(packed)(blobs=packed.blobs, manifests=(*packed.manifests[:-1], changed)), "foreign:1")
    with pytest.raises(ImageError, match="it has nothing for linux/amd64, only for linux/arm64"):
        await _provide(tmp_path, f"{registry.host}/foreign:1")


async def test_a_rate_limit_is_waited_for(fake_registry: FakeRegistry, tmp_path: Path) -> None:
    # I17
    fake_registry.put(_image(), "limited:1")
    fake_registry.too_many, fake_registry.retry_after = 3, "0"
    assert await _provide(tmp_path, f"{fake_registry.host}/limited:1")


async def test_a_rate_limit_that_lasts_is_called_so(fake_registry: FakeRegistry, tmp_path: Path) -> None:
    fake_registry.put(_image(), "limited:1")
    fake_registry.too_many, fake_registry.retry_after = 1000, "0"
    with pytest.raises(ImageError, match=r"the registry's rate limit for pulls is reached: .*toomanyrequests"):
        await _provide(tmp_path, f"{fake_registry.host}/limited:1")


async def test_a_registry_that_falls_silent_is_said(fake_registry: FakeRegistry, tmp_path: Path) -> None:
    fake_registry.put(_image(), "silent:1")
    fake_registry.gate.clear()
    async with images_of(tmp_path, patience_s=0.3) as images:
        with pytest.raises(ImageError, match="nothing comes from there"):
            await images.provide(image_of(f"{fake_registry.host}/silent:1"), holder="c")
    assert is_clean(tmp_path)


async def test_a_redirected_blob_is_fetched_without_the_credentials(
    fake_registry: FakeRegistry, tmp_path: Path
) -> None:
    fake_registry.challenge, fake_registry.credentials = "basic", Credentials()
    fake_registry.is_redirecting = True
    fake_registry.put(_image(), "redirected:1")
    config = json.dumps({"auths": {fake_registry.host: {"auth": Credentials().basic}}})
    assert await _provide(tmp_path, f"{fake_registry.host}/redirected:1", docker_config=config)


async def test_a_proxy_is_used_as_the_agents_environment_says(fake_registry: FakeRegistry, tmp_path: Path) -> None:
    # I6: the fake answers what it is asked as a proxy, too; no such host exists
    fake_registry.put(_image(), "proxied:1")
    environment = {"HTTP_PROXY": f"http://{fake_registry.host}", "HTTPS_PROXY": f"http://{fake_registry.host}"}
    assert await _provide(tmp_path, "registry.invalid:80/proxied:1", environment=environment)
    with pytest.raises(ImageError, match=r"no such host|lookup registry\.invalid"):
        await _provide(
            tmp_path, "registry.invalid:80/proxied:2", environment={**environment, "NO_PROXY": "registry.invalid"}
        )


async def test_an_image_that_would_not_fit_is_not_fetched(
    fake_registry: FakeRegistry, tmp_path: Path, tiny_disk: Path
) -> None:
    fake_registry.put(_image(os.urandom(64 * 1024)), "large:1")
    with pytest.raises(ImageError, match=r"it is 0\.1 MB to fetch and takes about 0\.3 MB on the disk, but .* left"):
        await _provide(tiny_disk, f"{fake_registry.host}/large:1")
    assert not any("/blobs/" in asked.path for asked in fake_registry.asked)


@pytest.mark.parametrize("name", ["", "Upper/case", "a@b@c", "a@sha256:12", "../etc", "a:b:c", "x y", "-V", "a\nb"])
async def test_what_is_no_name_is_refused_before_anything_is_asked(tmp_path: Path, name: str) -> None:
    with pytest.raises(ImageError, match="Failed to parse docker image"):
        await _provide(tmp_path, name)
