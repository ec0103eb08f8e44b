"""The store over crashes: of pulls, of agents, of the machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.agent.images.store_of import is_clean, trees_of
from tfmesos.agent.errors import BadAgentFlags
from tfmesos.agent.images.store import Store

_DIGEST = "sha256:" + "0" * 64


def _store(folder: Path) -> Store:
    store = Store(str(folder / "store"))
    store.open()
    return store


def _add(store: Store, digest: str = _DIGEST) -> None:
    staging = store.stage()
    os.mkdir(f"{staging.tree}/rootfs")
    Path(f"{staging.tree}/rootfs/file").write_bytes(b"x" * 5000)
    Path(f"{staging.tree}/config.json").write_text("{}")
    store.add(staging, digest)
    store.name("image", digest)
    staging.close()


def test_a_tree_is_found_by_name_and_counted(tmp_path: Path) -> None:
    store = _store(tmp_path)
    assert store.find("image") is None
    _add(store)
    _add(store)  # somebody else was faster
    assert store.find("image") == _DIGEST
    usage = store.usage()
    assert (usage.images, usage.used >= 5000) == (1, True)
    assert is_clean(tmp_path)


def test_what_killed_pulls_have_left_goes_and_what_others_pull_stays(tmp_path: Path) -> None:
    store = _store(tmp_path)
    running = store.stage()
    pid = os.fork()
    if pid == 0:
        store.stage()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert len(os.listdir(tmp_path / "store/staging")) == 2
    _store(tmp_path)
    assert os.listdir(tmp_path / "store/staging") == [os.path.basename(running.path)]
    running.close()
    assert is_clean(tmp_path)


def test_a_tree_that_may_be_only_half_on_the_disk_after_a_crash_of_the_machine_goes(tmp_path: Path) -> None:
    # Given a tree of an earlier start of the machine that was never written to the disk
    _add(_store(tmp_path))
    facts = tmp_path / "store/trees" / _DIGEST.replace(":", "-") / "facts.json"
    found = json.loads(facts.read_text())
    facts.write_text(json.dumps({**found, "boot_id": "another"}))
    assert _store(tmp_path).find("image") is None
    assert trees_of(tmp_path) == []
    # And one whose facts were lost
    _add(_store(tmp_path))
    facts.write_text("")
    assert _store(tmp_path).find("image") is None


def test_a_tree_that_was_written_stays(tmp_path: Path) -> None:
    store = _store(tmp_path)
    _add(store)
    store.harden(_DIGEST)
    facts = tmp_path / "store/trees" / _DIGEST.replace(":", "-") / "facts.json"
    assert json.loads(facts.read_text())["boot_id"] is None
    assert _store(tmp_path).find("image") == _DIGEST


def test_a_store_that_somebody_has_removed_is_made_again(tmp_path: Path) -> None:
    store = _store(tmp_path)
    _add(store)
    shutil.rmtree(store.path)
    assert store.find("image") is None
    assert store.usage().images == 0
    assert store.prune(lambda name: False) == 0
    _add(store)
    assert store.find("image") == _DIGEST
    assert os.stat(f"{store.path}/trees").st_mode & 0o777 == 0o700


def test_a_store_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(BadAgentFlags, match="belongs to somebody else, or everybody can write there"):
        _store(tmp_path / "open")
