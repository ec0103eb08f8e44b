"""Brings an image from where it is into the store: skopeo fetches it into an OCI layout, umoci unpacks that."""

from __future__ import annotations

import asyncio
import os
import platform
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tfmesos.agent.images.archives import Archive
from tfmesos.agent.images.credentials import Login, auth_file
from tfmesos.agent.images.errors import NoSpace, PullFailed, UnpackFailed
from tfmesos.agent.images.layouts import NAME, Layout
from tfmesos.agent.images.manifests import MAX_DEPTH, Manifest, Platform, UnusableImage, parse_manifest
from tfmesos.agent.images.orders import Order
from tfmesos.agent.images.patience import PATIENCE_S, Stalled, while_it_grows
from tfmesos.agent.images.programs import ProgramFailed, Programs
from tfmesos.agent.images.sources import InDirectory, InRegistry
from tfmesos.agent.images.store import Staging, Store
from tfmesos.agent.uninterrupted import finish

_TRIES_AGAIN = ("--retry-times", "1")
"""Of skopeo, after 1 s; besides, it waits as long as a registry's Retry-After says, up to a minute each time."""
_UNPACK = ("sh", "-c", 'umask 022 && exec "$@"', "sh", "umoci", "raw", "unpack", "--image")
"""Directories that no layer names shall be for everybody, whatever the agent's umask is."""
_LIMITED = re.compile(r"toomanyrequests|too many requests|\b429\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The manifest for this machine, and what skopeo is to copy."""

    digest: str
    manifest: Manifest
    location: str


class Puller:
    """Pulls any number of images at once; each into a place of its own, so that nothing is left of what fails."""

    def __init__(self, store: Store, programs: Programs, patience_s: float = PATIENCE_S) -> None:
        """`patience_s`: how long nothing may come of a pull."""
        self._store = store
        self._patience_s = patience_s
        self._programs = programs
        self._platform = Platform.of_machine(platform.machine())

    async def pull(self, order: Order) -> str:
        """The digest of a tree that is in the store now. Raises ImageError."""
        try:
            async with self._staging() as staging:
                return await self._pull(order, staging)
        except (UnusableImage, ProgramFailed, Stalled) as error:
            raise PullFailed(str(order.reference), order.source.place, _explained(str(error), order)) from error
        except OSError as error:
            reason = f"{error.strerror} ({error.filename})" if error.strerror else str(error)
            raise PullFailed(str(order.reference), order.source.place, reason) from error

    @asynccontextmanager
    async def _staging(self) -> AsyncIterator[Staging]:
        staging: list[Staging] = []
        try:
            await finish(asyncio.to_thread(lambda: staging.append(self._store.stage())))
            yield staging[0]
        finally:
            for left in staging:
                await finish(asyncio.to_thread(left.close))

    async def _pull(self, order: Order, staging: Staging) -> str:
        match order.source:
            case InRegistry() as source:
                found = await self._find_in_registry(source, order.login)
            case InDirectory() as source:
                found = await self._find_in_directory(source, staging)
        if await asyncio.to_thread(self._store.has, found.digest):
            return found.digest
        self._check_space(order, found.manifest)
        await self._copy(order, found, staging)
        await self._unpack(order, found, staging)
        return found.digest

    async def _find_in_registry(self, source: InRegistry, login: Login | None) -> _Found:
        version = source.version
        for _ in range(MAX_DEPTH):
            words = (*_trust(source, "tls-verify"), *_TRIES_AGAIN)
            location = f"docker://{source.repository_name}{version}"
            looking = self._programs.skopeo(
                "inspect", "--raw", *words, location, secret=auth_file(source.registry.host, login)
            )
            content = await while_it_grows(looking, None, self._patience_s)
            found = parse_manifest(content)
            if isinstance(found, Manifest):
                digest = _digest_of(content)
                return _Found(digest=digest, manifest=found, location=f"docker://{source.repository_name}@{digest}")
            version = f"@{found.choose(self._platform).digest}"
        raise UnusableImage(f"its indexes are nested deeper than {MAX_DEPTH}")

    async def _find_in_directory(self, source: InDirectory, staging: Staging) -> _Found:
        path = next(filter(os.path.isfile, source.paths), None)
        if path is None:
            raise UnusableImage(f"Failed to find archive for image '{source.reference}' at '{source.paths[0]}'")
        archive = Archive(path, source.reference)
        saved = await asyncio.to_thread(archive.prepare, staging.path)
        if saved is None:
            content, location = await asyncio.to_thread(archive.choose, staging.path, self._platform)
        else:
            location = saved
            content = await self._programs.skopeo("inspect", "--raw", "--tmpdir", staging.path, location)
        manifest = parse_manifest(content)
        assert isinstance(manifest, Manifest), "an index was chosen from before, and docker save makes none"
        return _Found(digest=_digest_of(content), manifest=manifest, location=location)

    def _check_space(self, order: Order, manifest: Manifest) -> None:
        """Raises NoSpace. The size of what is unpacked is a guess."""
        found = os.statvfs(self._store.path)
        free, needed = found.f_bavail * found.f_frsize, manifest.size + manifest.unpacked_size
        if needed > free:
            reason = f"it is {_megabytes(manifest.size)} to fetch and takes about {_megabytes(needed)} on the disk"
            left = f"--docker_store_dir {self._store.path} has {_megabytes(free)} left"
            raise NoSpace(str(order.reference), order.source.place, f"{reason}, but {left}")

    async def _copy(self, order: Order, found: _Found, staging: Staging) -> None:
        """As it is, but for zstd, which umoci 0.4 does not read: then layers are unpacked."""
        words: list[str] = ["--quiet", "--tmpdir", staging.path]
        if any(layer.is_zstd for layer in found.manifest.layers):
            words.append("--dest-decompress")
        secret = None
        if isinstance(order.source, InRegistry):
            words += [*_trust(order.source, "src-tls-verify"), *_TRIES_AGAIN]
            secret = auth_file(order.source.registry.host, order.login)
        copying = self._programs.skopeo("copy", *words, found.location, f"dir:{_copy_in(staging)}", secret=secret)
        await while_it_grows(copying, staging.path, self._patience_s)

    async def _unpack(self, order: Order, found: _Found, staging: Staging) -> None:
        try:
            path = f"{staging.path}/image"
            layout = await asyncio.to_thread(Layout.of_copy, _copy_in(staging), path)
            await self._programs.run(*_UNPACK, f"{path}:{NAME}", f"{staging.tree}/rootfs")
            await asyncio.to_thread(self._keep, layout, staging, found.digest)
        except (ProgramFailed, UnusableImage, OSError) as error:
            raise UnpackFailed(str(order.reference), str(error)) from error

    def _keep(self, layout: Layout, staging: Staging, digest: str) -> None:
        Path(f"{staging.tree}/config.json").write_bytes(layout.config())
        self._store.add(staging, digest)


def _copy_in(staging: Staging) -> str:
    return f"{staging.path}/copy"


def _trust(source: InRegistry, flag: str) -> Sequence[str]:
    """For a registry that need not have TLS; with it, its certificate is not looked at."""
    return (f"--{flag}=false",) if source.registry.is_plain else ()


def _megabytes(size: int) -> str:
    return f"{size / 1024**2:.1f} MB"


def _digest_of(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()}"


def _explained(reason: str, order: Order) -> str:
    """Without what is secret, and with what a limit is that registries have for pulls."""
    if order.login is not None:
        reason = order.login.hidden(reason)
    if _LIMITED.search(reason):
        return f"the registry's rate limit for pulls is reached: {reason}"
    return reason
