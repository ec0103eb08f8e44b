"""Unpacked images, on disk, for all agents of a machine.

<docker_store_dir>/              nobody else may write here
  images.json                    names → digests
  lock                           held while images.json is changed or a pull begins
  trees/                         0700: an image may hold programs with special rights
   <digest>/                     appears whole, by a rename, and never changes
    rootfs/                      what containers see
    config.json                  the image's configuration
    facts.json                   its size, and whether it is surely on the disk
    lock                         a shared flock of each agent that uses it; an exclusive one of who removes it
    users/<hash>                 a link to the mark of one holder (holders.py); a link that leads nowhere means nothing
  staging/                       0700
   <random>/                     one for each pull; its `lock` is held by who pulls. What nobody holds is left over

A digest is that of the manifest for this machine. A running agent's use is its flock; the links are for containers that
run on while no agent does.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.ownership import check_ownership
from tfmesos.agent.sandboxes.trees import remove_tree
from tfmesos.supervision import read_boot_id

_FORMAT = 1
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tree:
    """An unpacked image; `path`: of its rootfs."""

    path: str
    config: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUsage:
    """How much the unpacked images of a store are; `used`: bytes."""

    images: int
    used: int


@dataclass(slots=True)
class _Use:
    """This process' use of one tree."""

    lock: int
    marks: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """Of a tree. `boot_id`: of the machine's start in which it was made; None: all of it is on the disk."""

    size: int
    boot_id: str | None

    @classmethod
    def read(cls, tree: str) -> _Facts | None:
        """None if that cannot be read."""
        try:
            value = json.loads(Path(f"{tree}/facts.json").read_bytes())
            return cls(size=int(value["size"]), boot_id=value["boot_id"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, tree: str) -> None:
        fresh = f"{tree}/facts.json.new"
        Path(fresh).write_text(json.dumps({"size": self.size, "boot_id": self.boot_id}))
        os.replace(fresh, f"{tree}/facts.json")


class Staging:
    """A place to prepare a tree in: `path`; the tree is `tree`, which `Store.add` takes away."""

    def __init__(self, path: str, lock: int) -> None:
        """`lock`: an open file that `close` closes."""
        self.path = path
        self.tree = f"{path}/tree"
        self._lock = lock
        os.makedirs(f"{self.tree}/users")

    def close(self) -> None:
        """Remove what is left in it."""
        _remove_held(self.path, self._lock)


class Store:
    """Methods may be called in any thread; they read and write files, and never wait long for another agent."""

    def __init__(self, path: str) -> None:
        """`path` is absolute."""
        self.path = path
        self._uses: dict[str, _Use] = {}
        self._guard = threading.Lock()

    def open(self) -> None:
        """Make it, and remove what killed agents have left of their pulls. Raises BadAgentFlags."""
        if ":" in self.path:
            raise BadAgentFlags(f"--docker_store_dir: {self.path} has a ':', which skopeo and umoci take for a tag")
        try:
            self._make_folders()
            self._sweep()
        except OSError as error:
            raise BadAgentFlags(f"--docker_store_dir: cannot use {self.path}: {error.strerror or error}") from error

    def find(self, name: str) -> str | None:
        """The digest of the tree that an image was unpacked to, if it is there."""
        digest = self._names().get(name)
        return digest if digest is not None and self.has(digest) else None

    def has(self, digest: str) -> bool:
        """Whether there is such a tree."""
        return os.path.exists(self._tree(digest))

    def use(self, digest: str, mark: str) -> Tree | None:
        """Have a tree stay until it is dropped with the same mark; None if it is not there. Raises OSError."""
        with self._guard:
            use = self._uses.get(digest) or self._begin_use(digest)
            if use is None:
                return None
            use.marks.add(mark)
        tree = self._tree(digest)
        with contextlib.suppress(FileExistsError):
            os.symlink(mark, f"{tree}/users/{_short(mark)}")
        return Tree(f"{tree}/rootfs", Path(f"{tree}/config.json").read_bytes())

    def drop(self, digest: str, mark: str) -> None:
        """The holder with this mark does not use it any more. Idempotent."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self._tree(digest)}/users/{_short(mark)}")
        with self._guard:
            use = self._uses.get(digest)
            if use is not None:
                use.marks.discard(mark)
                if not use.marks:
                    del self._uses[digest]
                    os.close(use.lock)

    def close(self) -> None:
        """This agent is about to end: it uses nothing any more, but its containers may. Idempotent."""
        with self._guard:
            for use in self._uses.values():
                os.close(use.lock)
            self._uses.clear()

    def stage(self) -> Staging:
        """Also after somebody has removed the store, as those do who tidy /tmp. Raises OSError."""
        self._make_folders()
        with _holding(f"{self.path}/lock"):
            path = tempfile.mkdtemp(dir=f"{self.path}/staging")
            lock = _locked(f"{path}/lock", fcntl.LOCK_EX)
        try:
            return Staging(path, lock)
        except OSError:
            _remove_held(path, lock)
            raise

    def add(self, staging: Staging, digest: str) -> None:
        """Take a staged tree with rootfs/ and config.json; if the digest is there by now, that one stays."""
        facts = _Facts(size=_size_of(f"{staging.tree}/rootfs"), boot_id=read_boot_id())
        facts.write(staging.tree)
        os.close(_locked(f"{staging.tree}/lock", fcntl.LOCK_SH))
        try:
            os.rename(staging.tree, self._tree(digest))
        except OSError:
            if not self.has(digest):
                raise

    def harden(self, digest: str) -> None:
        """Have a tree outlive a crash of the machine from now on: it is written to the disk. May take seconds."""
        tree = self._tree(digest)
        facts = _Facts.read(tree)
        if facts is not None and facts.boot_id is not None:
            _sync_file_system(tree)
            _Facts(size=facts.size, boot_id=None).write(tree)

    def name(self, name: str, digest: str) -> None:
        """An image is this tree from now on."""
        self._change_names(lambda names: {**names, name: digest})

    def usage(self) -> StoreUsage:
        """Of all trees."""
        facts = [_Facts.read(self._tree(digest)) for digest in self._digests()]
        return StoreUsage(images=len(facts), used=sum(found.size for found in facts if found is not None))

    def prune(self, is_kept: Callable[[str], bool]) -> int:
        """Remove all trees but those of the names that are kept, and those in use by any agent; how many."""
        kept = {digest for name, digest in self._names().items() if is_kept(name)}
        removed = {digest for digest in self._digests() if digest not in kept and self._remove(digest)}
        if removed:
            self._change_names(lambda names: {name: digest for name, digest in names.items() if self.has(digest)})
        return len(removed)

    def _begin_use(self, digest: str) -> _Use | None:
        path = f"{self._tree(digest)}/lock"
        try:
            check_ownership(Path(f"{self.path}/trees").resolve())  # it may have been removed, and made by somebody else
            lock = _locked(path, fcntl.LOCK_SH, flags=os.O_RDWR)
        except FileNotFoundError:
            return None
        if not _is_at(lock, path):  # removed while the lock was awaited
            os.close(lock)
            return None
        self._uses[digest] = use = _Use(lock)
        return use

    def _remove(self, digest: str) -> bool:
        try:
            leaving = self._take_away(digest)
            if leaving is None:
                return False
            remove_tree(leaving)
        except OSError as error:
            _log.warning("image %s cannot be removed: %s", digest, error)
        return not self.has(digest)

    def _take_away(self, digest: str) -> str | None:
        """Where an unused tree is moved to; None if it is used."""
        tree = self._tree(digest)
        try:
            lock = _locked(f"{tree}/lock", fcntl.LOCK_EX | fcntl.LOCK_NB, flags=os.O_RDWR)
        except (BlockingIOError, FileNotFoundError):
            return None
        try:
            if any(os.path.exists(f"{tree}/users/{name}") for name in os.listdir(f"{tree}/users")):
                return None
            self._make_folders()
            leaving = tempfile.mkdtemp(dir=f"{self.path}/staging")
            os.rename(tree, f"{leaving}/tree")
            return leaving
        finally:
            os.close(lock)

    def _sweep(self) -> None:
        """Remove what was left by pulls whose agent is gone, and by removals that were cut off."""
        with _holding(f"{self.path}/lock"):
            locks = {path: _try_lock(f"{path}/lock") for path in self._staged()}
        for path, lock in locks.items():
            if lock is not None:
                _remove_held(path, lock)
        for digest in self._digests():
            facts = _Facts.read(self._tree(digest))
            if facts is None or facts.boot_id not in (None, read_boot_id()):
                _log.warning("image %s may be damaged, since the machine was started again meanwhile", digest)
                self._remove(digest)

    def _make_folders(self) -> None:
        """Raises OSError, too, if somebody else has made the store."""
        os.makedirs(self.path, exist_ok=True)
        check_ownership(Path(self.path).resolve())
        for name in ("trees", "staging"):
            os.makedirs(f"{self.path}/{name}", 0o700, exist_ok=True)

    def _staged(self) -> list[str]:
        return [f"{self.path}/staging/{name}" for name in os.listdir(f"{self.path}/staging")]

    def _tree(self, digest: str) -> str:
        return f"{self.path}/trees/{digest.replace(':', '-')}"

    def _digests(self) -> list[str]:
        try:
            names = os.listdir(f"{self.path}/trees")
        except FileNotFoundError:  # until the next pull
            return []
        return [name.replace("-", ":", 1) for name in sorted(names)]

    def _names(self) -> dict[str, str]:
        path = f"{self.path}/images.json"
        try:
            value = json.loads(Path(path).read_bytes())
            if value["format"] != _FORMAT:
                raise ValueError(f"its format is {value['format']}, this agent reads {_FORMAT}")
            return {str(name): str(digest) for name, digest in value["images"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _log.warning("%s cannot be read, so images are pulled again: %s", path, error)
            return {}

    def _change_names(self, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
        path = f"{self.path}/images.json"
        with _holding(f"{self.path}/lock"):
            content = json.dumps({"format": _FORMAT, "images": change(self._names())}, indent=1)
            fresh = f"{path}.{os.getpid()}"
            Path(fresh).write_text(content)
            os.replace(fresh, path)


def _locked(path: str, how: int, *, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    lock = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, how)
    except BaseException:
        os.close(lock)
        raise
    return lock


@contextlib.contextmanager
def _holding(path: str) -> Iterator[None]:
    lock = _locked(path, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(lock)


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _try_lock(path: str) -> int | None:
    try:
        return _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody holds it, or has just removed it all
        return None


def _remove_held(path: str, lock: int) -> None:
    try:
        remove_tree(path)
    except OSError as error:
        _log.warning("%s cannot be removed: %s", path, error)
    finally:
        os.close(lock)


def _short(mark: str) -> str:
    return hashlib.sha256(mark.encode()).hexdigest()


def _size_of(path: str) -> int:
    """Bytes on disk; what has several names counts once."""
    seen: set[tuple[int, int]] = set()
    size = 0
    for _, directories, files, here in os.fwalk(path):
        for name in (*directories, *files):
            status = os.lstat(name, dir_fd=here)
            if status.st_nlink > 1 and (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            size += status.st_blocks * 512
    return size


def _sync_file_system(path: str) -> None:
    """Write to the disk what is in memory of the file system of a directory (Linux: syncfs(2))."""
    import ctypes  # only who pulls pays for it

    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(directory) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)
    finally:
        os.close(directory)
