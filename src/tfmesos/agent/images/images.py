"""The images of one agent: pulled once for many, unpacked once, kept while somebody holds them."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.images.credentials import Login
from tfmesos.agent.images.errors import BadReference, ImageError, PullFailed
from tfmesos.agent.images.gc_config import ImageGcConfig, parse_image_gc_config
from tfmesos.agent.images.holders import Holder, Holders
from tfmesos.agent.images.image_root import ImageRoot, ImageRuntime
from tfmesos.agent.images.orders import Order, Orders
from tfmesos.agent.images.patience import PATIENCE_S
from tfmesos.agent.images.programs import Programs
from tfmesos.agent.images.puller import Puller
from tfmesos.agent.images.shared_work import SharedWork
from tfmesos.agent.images.store import Store, StoreUsage, Tree
from tfmesos.agent.sandboxes.gc import disk_usage
from tfmesos.agent.uninterrupted import finish
from tfmesos.metrics import Timer
from tfmesos.supervision import Supervisors
from tfmesos.wire import mesos_pb2

_TRIES = 3
"""Somebody else may remove an image just after it was found."""
_METRICS = "containerizer/mesos/provisioner/docker_store"
_log = logging.getLogger(__name__)


class Images:
    """What an agent may give its containers as root file systems. `recover` comes first, `close` last."""

    def __init__(
        self, store: Store, puller: Puller, holders: Holders, orders: Orders, gc: ImageGcConfig | None = None
    ) -> None:
        """Without `gc` images go only when `prune` is called."""
        self._store = store
        self._puller = puller
        self._holders = holders
        self._orders = orders
        self._gc = gc
        self._pulls: SharedWork[tuple[str, Login | None], str] = SharedWork()
        self._pull_times = Timer()
        self._used = StoreUsage(images=0, used=0)
        self._marking = asyncio.Lock()
        self._writing = asyncio.Lock()
        self._hardening: set[asyncio.Task[None]] = set()
        self._watching: asyncio.Task[None] | None = None

    @classmethod
    def open(
        cls,
        flags: AgentFlags,
        supervisors: Supervisors,
        environment: Mapping[str, str],
        patience_s: float = PATIENCE_S,
    ) -> Images | None:
        """None without --image_providers. `environment` is the agent's own. Raises BadAgentFlags for what is missing.

        `supervisors` need not be started yet. `patience_s`: how long nothing may come of a pull.
        """
        if not flags.image_providers:
            return None
        orders = Orders.of_flags(flags)
        programs = Programs(supervisors, environment)
        programs.check()
        store = Store(os.path.abspath(flags.docker_store_dir))
        store.open()
        holders = Holders(Path(flags.work_dir).absolute() / "provisioner" / "holders")
        return cls(store, Puller(store, programs, patience_s), holders, orders, _gc_config(flags, orders))

    async def recover(self, holders: Collection[str]) -> None:
        """Of the agent before: these still hold what they held, all others nothing."""
        for holder in await asyncio.to_thread(list, self._holders.all()):
            if holder.name in holders:
                await asyncio.to_thread(self._use_again, holder)
            else:
                await self.release(holder.name)
        await self.usage()

    async def provide(self, image: mesos_pb2.Image, *, holder: str) -> ImageRoot:
        """An image, pulled and unpacked if it is not there; it stays until `holder` releases it.

        `holder` is the name of what outlives this agent (a container's id); it may hold several. Many who ask at once
        wait for the same pull, which is ended when nobody wants it any more. Raises ImageError; also then, and if this
        is cancelled, `release` is to follow.
        """
        order = self._orders.order(image)
        is_cached = image.cached
        for _ in range(_TRIES):
            digest = await asyncio.to_thread(self._store.find, order.name) if is_cached else None
            if digest is None:
                digest = await self._pulls.join((order.name, order.login), lambda: self._pull(order))
            tree = await self._hold(holder, digest)
            if tree is not None:
                return _root(order, digest, tree)
        raise PullFailed(str(order.reference), order.source.place, "it is removed again and again")

    async def release(self, holder: str) -> None:
        """Let go all that a holder holds. Idempotent; what cannot be done is logged."""
        async with self._marking:
            try:
                await finish(asyncio.to_thread(self._release, holder))
            except OSError as error:
                _log.warning("images of %s cannot be released: %s", holder, error)

    async def prune(self, excluded: Collection[mesos_pb2.Image] = ()) -> None:
        """Remove all images but these and those that are held, by whichever agent. Raises ImageError."""
        await self._prune([image.docker.name for image in excluded])

    async def usage(self) -> StoreUsage:
        """Of all images of the store."""
        self._used = await asyncio.to_thread(self._store.usage)
        return self._used

    def numbers(self) -> Mapping[str, float]:
        """How long pulls took, by Mesos' name; and, of ours, what the store had when this agent last changed it."""
        found = self._pull_times.values(time.monotonic())
        times = {f"{_METRICS}/image_pull_ms" + (f"/{name}" if name else ""): value for name, value in found.items()}
        return times | {f"{_METRICS}/images": self._used.images, f"{_METRICS}/used_bytes": self._used.used}

    def begin(self) -> None:
        """Begin to look at the disk, with --image_gc_config; `close` ends that."""
        if self._gc is not None:
            self._watching = asyncio.create_task(self._watch(self._gc), name="removal of images")

    async def close(self) -> None:
        """End what is being pulled; what is held stays held, for the next agent. Idempotent."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        await self._pulls.close()
        if self._hardening:
            await asyncio.wait(self._hardening)
        self._store.close()

    async def _pull(self, order: Order) -> str:
        _log.info("image %s: pulling from %s", order.reference, order.source.place)
        began_s = time.monotonic()
        digest = await self._puller.pull(order)
        try:
            await asyncio.to_thread(self._store.name, order.name, digest)
        except OSError as error:
            reason = f"its name cannot be kept in {self._store.path}: {error.strerror}"
            raise PullFailed(str(order.reference), order.source.place, reason) from error
        self._hardening.add(task := asyncio.create_task(self._harden(digest), name=f"writing of image {digest}"))
        task.add_done_callback(self._hardening.discard)
        took_s = time.monotonic() - began_s
        self._pull_times.record(took_s * 1000, time.monotonic())
        used = await self.usage()
        _log.info(
            "image %s: %s, after %.1f s; the store has %d images, %.1f MB",
            order.reference,
            digest,
            took_s,
            used.images,
            used.used / 1024**2,
        )
        return digest

    async def _harden(self, digest: str) -> None:
        """Nobody waits for it: until then a crash of the machine costs a pull. One after the other, in one thread."""
        async with self._writing:
            try:
                await finish(asyncio.to_thread(self._store.harden, digest))
            except OSError as error:
                _log.warning("image %s: not written to the disk: %s", digest, error)

    async def _hold(self, holder: str, digest: str) -> Tree | None:
        async with self._marking:
            try:
                return await finish(asyncio.to_thread(self._use, holder, digest))
            except OSError as error:
                raise ImageError(f"cannot note which image it uses: {error.strerror or error}") from error

    def _use(self, holder: str, digest: str) -> Tree | None:
        return self._store.use(digest, self._holders.add(holder, digest).mark)

    def _use_again(self, holder: Holder) -> None:
        for digest in holder.digests:
            try:
                if self._store.use(digest, holder.mark) is None:
                    _log.warning("image %s, which %s holds, is gone", digest, holder.name)
            except OSError as error:
                _log.warning("image %s, which %s holds, cannot be used: %s", digest, holder.name, error)

    def _release(self, name: str) -> None:
        holder = self._holders.find(name)
        for digest in holder.digests:
            self._store.drop(digest, holder.mark)
        self._holders.remove(name)

    async def _prune(self, excluded: Collection[str]) -> None:
        kept = {self._orders.name(name) for name in excluded}
        try:
            count = await asyncio.to_thread(self._store.prune, kept.__contains__)
        except OSError as error:
            raise ImageError(f"Failed to prune images: {error}") from error
        used = await self.usage()
        _log.info("%d unused images removed; the store has %d, %.1f MB", count, used.images, used.used / 1024**2)

    async def _watch(self, gc: ImageGcConfig) -> None:
        while True:
            if disk_usage(self._store.path) > 1 - gc.headroom:
                try:
                    await self._prune(gc.excluded)
                except ImageError as error:
                    _log.warning("%s", error)
            await asyncio.sleep(gc.interval_s)


def _gc_config(flags: AgentFlags, orders: Orders) -> ImageGcConfig | None:
    if not flags.image_gc_config:
        return None
    found = parse_image_gc_config(flags.image_gc_config)
    try:
        for name in found.excluded:
            orders.name(name)
    except BadReference as error:
        raise BadAgentFlags(f"--image_gc_config: {error}") from error
    return found


def _root(order: Order, digest: str, tree: Tree) -> ImageRoot:
    try:
        runtime = ImageRuntime.from_config(tree.config)
    except ValueError as error:
        raise ImageError(f"Failed to read the configuration of image '{order.reference}': {error}") from error
    return ImageRoot(image=str(order.reference), digest=digest, tree=tree.path, runtime=runtime)
