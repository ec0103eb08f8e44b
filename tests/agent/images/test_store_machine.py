"""A store that two agents share, in random orders: what is held stays, what is not held goes when it is asked to."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tfmesos.agent.images.holders import Holders
from tfmesos.agent.images.store import Store

_AGENTS = st.integers(0, 1)
_HOLDERS = st.sampled_from(["c1", "c2"])
_IMAGES = st.sampled_from(["one", "two", "three"])
_Held = dict[tuple[int, str], set[str]]


def _digest(image: str) -> str:
    return f"sha256:{image.encode().hex():0>64}"


class SharedStore(RuleBasedStateMachine):
    """Agents crash, and come back knowing some of their containers."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.stores: dict[int, Store] = {}
        self.held: _Held = {}
        for agent in (0, 1):
            self._start(agent)

    def teardown(self) -> None:
        for store in self.stores.values():
            store.close()
        shutil.rmtree(self.folder)

    @rule(agent=_AGENTS, image=_IMAGES)
    def pull(self, agent: int, image: str) -> None:
        store = self.stores[agent]
        staging = store.stage()
        os.mkdir(f"{staging.tree}/rootfs")
        Path(f"{staging.tree}/config.json").write_text(image)
        store.add(staging, _digest(image))
        store.name(image, _digest(image))
        staging.close()

    @rule(agent=_AGENTS, holder=_HOLDERS, image=_IMAGES)
    def hold(self, agent: int, holder: str, image: str) -> None:
        store = self.stores[agent]
        digest = store.find(image)
        if digest is None:
            return
        tree = store.use(digest, self._holders(agent).add(holder, digest).mark)
        assert tree is not None
        assert tree.config == image.encode()
        self.held.setdefault((agent, holder), set()).add(image)

    @rule(agent=_AGENTS, holder=_HOLDERS)
    def release(self, agent: int, holder: str) -> None:
        self._let_go(agent, holder)
        self.held.pop((agent, holder), None)

    @rule(agent=_AGENTS, excluded=st.sets(_IMAGES))
    def prune(self, agent: int, excluded: set[str]) -> None:
        self.stores[agent].prune(excluded.__contains__)
        left = {image for image in ("one", "two", "three") if self.stores[agent].has(_digest(image))}
        assert left <= excluded | self._all_held()

    @rule(agent=_AGENTS, known=st.sets(_HOLDERS))
    def crash(self, agent: int, known: set[str]) -> None:
        self.stores[agent].close()  # a killed process' locks are gone; nothing else is done
        self._start(agent)
        for holder in list(self._holders(agent).all()):
            if holder.name in known:
                assert all(self.stores[agent].use(digest, holder.mark) for digest in holder.digests)
            else:
                self.release(agent, holder.name)

    @rule(agent=_AGENTS)
    def stay_away_while_others_prune(self, agent: int) -> None:
        self.stores[agent].close()
        self.stores[1 - agent].prune(lambda _: False)
        self._start(agent)

    @invariant()
    def what_is_held_is_there(self) -> None:
        for image in self._all_held():
            assert self.stores[0].has(_digest(image)), image

    @invariant()
    def nothing_is_staged(self) -> None:
        assert not os.listdir(self.folder / "store/staging")

    def _start(self, agent: int) -> None:
        self.stores[agent] = Store(str(self.folder / "store"))
        self.stores[agent].open()
        for holder in self._holders(agent).all():
            for digest in holder.digests:
                self.stores[agent].use(digest, holder.mark)

    def _let_go(self, agent: int, name: str) -> None:
        holder = self._holders(agent).find(name)
        for digest in holder.digests:
            self.stores[agent].drop(digest, holder.mark)
        self._holders(agent).remove(name)

    def _holders(self, agent: int) -> Holders:
        return Holders(self.folder / f"agent{agent}")

    def _all_held(self) -> set[str]:
        held: Mapping[tuple[int, str], set[str]] = self.held
        return {image for images in held.values() for image in images}


SharedStore.TestCase.settings = settings(max_examples=20, stateful_step_count=25)
TestSharedStore = SharedStore.TestCase
