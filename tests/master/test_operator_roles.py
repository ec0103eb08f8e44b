"""Roles and their weights, as operators see and change them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.master.conftest import Recorded
from tests.master.peers import Agent, Client, Scheduler, call, launch, started
from tfmesos.master import Master, MasterFlags
from tfmesos.master.registrar import Registrar
from tfmesos.transport import TcpAddress


async def test_roles_with_a_weight_and_their_ancestors_are_known() -> None:
    async with started(weights=(("a/b", 2.5),)) as client:
        roles = {role["name"]: role for role in (await client.get_json("/roles"))["roles"]}
        assert list(roles) == ["a", "a/b"]
        assert [role["weight"] for role in roles.values()] == [1.0, 2.5]
        assert await client.get_json("/weights") == [{"role": "a/b", "weight": 2.5}]
        told = (await call(client, "GET_ROLES"))["get_roles"]["roles"]
        assert told == [{"name": "a", "weight": 1.0}, {"name": "a/b", "weight": 2.5}]
        weights = await call(client, "GET_WEIGHTS")
        assert weights["get_weights"] == {"weight_infos": [{"weight": 2.5, "role": "a/b"}]}


async def test_an_operator_is_answered_when_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk_is_ready = asyncio.Event()
    sync = Registrar.sync

    async def slow_sync(registrar: Registrar) -> None:
        await disk_is_ready.wait()
        await sync(registrar)

    monkeypatch.setattr(Registrar, "sync", slow_sync)
    master = Master(MasterFlags(port=0, work_dir=str(tmp_path)))
    await master.start()
    assert isinstance(master.address, TcpAddress)
    async with Client(master.address) as client, Client(master.address) as other:
        wish = json.dumps([{"role": "a", "weight": 2.0}]).encode()
        answer = asyncio.create_task(client.connection.request("PUT", "/weights", {}, wish))
        while await other.get_json("/weights") == []:
            pass
        assert await other.get_json("/weights")
        assert not answer.done()
        disk_is_ready.set()
        assert (await answer).status == 200
    await master.close()


@pytest.mark.parametrize("is_call", [True, False])
async def test_weights_are_changed_and_outlive_the_master(tmp_path: Path, is_call: bool) -> None:
    flags: dict[str, Any] = {"port": 0, "work_dir": str(tmp_path), "weights": (("a", 2.0),)}
    wish = [{"role": "b", "weight": 3.5}]
    both = [{"role": "a", "weight": 2.0}, {"role": "b", "weight": 3.5}]
    for is_first in (True, False):
        master = Master(MasterFlags(**flags))
        await master.start()
        assert isinstance(master.address, TcpAddress)
        async with Client(master.address) as client:
            if is_first and is_call:
                assert await call(client, "UPDATE_WEIGHTS", update_weights={"weight_infos": wish}) is None
            elif is_first:
                response = await client.connection.request("PUT", "/weights", {}, json.dumps(wish).encode())
                assert (response.status, response.body) == (200, b"")
            assert await client.get_json("/weights") == both
        await master.close()


async def test_new_weights_count_at_once(master: Master, client: Client) -> None:
    async with Agent.running(master), Scheduler.subscribed(client, role="a") as scheduler:
        offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
        wish = [{"role": "a", "weight": 2.0}]
        assert (await client.connection.request("PUT", "/weights", {}, json.dumps(wish).encode())).status == 200
        assert (await scheduler.event("RESCIND"))["rescind"]["offer_id"] == offer["id"]
        assert await scheduler.event("OFFERS")
        assert (await client.get_json("/roles"))["roles"][0]["weight"] == 2.0


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            b'[{"role":"/x","weight":1}]',
            "validate update weights request JSON: Invalid role '/x': Role '/x' cannot start",
        ),
        (b'[{"role":"x","weight":0}]', "validate update weights request JSON: Invalid weight '0' for role 'x'"),
        (b'[{"role":"x"}]', "parse update weights request JSON: Missing required fields: weight"),
        (b'{"role":"x","weight":1}', "parse update weights request JSON: a list"),
        (b'["x"]', "parse update weights request JSON: "),
        (b"\xff", "parse update weights request JSON: "),
        (b"[" * 100_000, "parse update weights request JSON: "),
    ],
)
async def test_weights_that_make_no_sense_are_refused(client: Client, body: bytes, text: str) -> None:
    response = await client.connection.request("PUT", "/weights", {}, body)
    assert response.status == 400
    assert response.body.decode().startswith(f"Failed to {text}")


async def test_roles_show_what_their_frameworks_hold(master: Master, client: Client, recorded: Recorded) -> None:
    async with Agent.running(master, "cpus:4;mem:4096;ports:[31000-32000]"), Scheduler.subscribed(client) as scheduler:
        offer = (await scheduler.event("OFFERS"))["offers"]["offers"][0]
        [role] = (await client.get_json("/roles"))["roles"]
        assert set(role) == set(recorded.json("operator", 167)["roles"][0])
        assert role["resources"] == role["offered"] == {"cpus": 4.0, "mem": 4096.0, "ports": 1001.0}
        await scheduler.call("ACCEPT", accept=launch("t", offer))
        [role] = (await client.get_json("/roles"))["roles"]
        assert role["allocated"] == {"cpus": 1.0}
        [told] = (await call(client, "GET_ROLES"))["get_roles"]["roles"]
        assert "ports" not in [resource["name"] for resource in told["resources"]]
