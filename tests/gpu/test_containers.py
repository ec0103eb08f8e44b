"""GPUs of containers of every kind: members of a group, sessions in them, containers of an operator (G10, G18)."""

from __future__ import annotations

import uuid

from tests.gpu.cluster import GpuCluster
from tests.gpu.conftest import StartGpuCluster, one_view
from tests.gpu.framework import fill, gpu_framework
from tfmesos.client import AgentClient
from tfmesos.transport import TcpAddress
from tfmesos.wire import agent_pb2, mesos_pb2

MIB = 1024 * 1024
SHOW = 'nvidia-smi -L | sed "s/.*UUID: //; s/)//"; echo "$CUDA_VISIBLE_DEVICES"'
"""The UUIDs of what opens, then those that the environment tells."""


async def test_members_of_a_group_have_their_own_cards(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster(cards=3)
    cards = {card.uuid for card in cluster.machine.cards}
    async with gpu_framework(cluster.address) as framework:
        # given a group with cards, a member without, and an executor that has one itself
        await framework.wait_offers(gpus=3)
        executor = framework.executor("group", mesos_pb2.ExecutorInfo.DEFAULT, gpus=1)
        wait = "; touch shown; exec sleep 1000"
        tasks = [framework.task(name, SHOW + wait, gpus=1) for name in ("a", "b")]
        tasks.append(framework.task("none", SHOW + wait))
        await framework.launch_group(executor, tasks)
        await framework.wait_running("a", "b", "none")
        status = framework.statuses["a"][-1].container_status

        # then each sees its own, and who has none sees none
        shown = {name: await cluster.wait_output(f"tasks/{name}/stdout", lines=2) for name in ("a", "b", "none")}
        assert shown["none"] == ["No devices were found", ""]
        for name in ("a", "b"):
            assert shown[name][0] == shown[name][1]
            assert shown[name][0] in cards
        assert shown["a"] != shown["b"]

        # and a session in one sees what that one sees
        assert await session(cluster, status.container_id, SHOW) == shown["a"]

        # when the group ends, all cards are there again
        await framework.kill("a")
        await framework.wait_ended("a", "b", "none")
        await framework.wait_offers(gpus=3)
    assert cluster.wait_no_cgroup() == []


async def session(cluster: GpuCluster, parent: mesos_pb2.ContainerID, command: str) -> list[str]:
    """The lines that a command prints in a DEBUG container."""
    container_id = mesos_pb2.ContainerID(value=str(uuid.uuid4()), parent=parent)
    info = mesos_pb2.CommandInfo(value=command)
    async with agent_client(cluster) as client, client.session(container_id, info) as output:
        return b"".join([message.data.data async for message in output]).decode().splitlines()


async def test_an_operators_container_has_what_it_asks_for(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster(cards=2)
    container_id = mesos_pb2.ContainerID(value=str(uuid.uuid4()))
    async with agent_client(cluster) as client:
        await client.launch_container(standalone(container_id, "exec sleep 1000", gpus=1))
        (held,) = cluster.held().values()
        pid = cluster.pids()[container_id.value]
        assert [cluster.node_of(held[0])] == sorted(cluster.machine.cards_open(pid))

        await client.kill_container(container_id, 9)
        await client.wait_container(container_id)

    assert cluster.held() == {}
    assert cluster.wait_no_cgroup() == []


def standalone(container_id: mesos_pb2.ContainerID, command: str, gpus: int) -> agent_pb2.Call.LaunchContainer:
    launch = agent_pb2.Call.LaunchContainer(container_id=container_id)
    launch.command.value = command
    fill(launch.resources, cpus=0.1, mem=32, gpus=gpus)
    return launch


async def test_tools_work_without_gpus_but_no_card_opens(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster(cards=2)
    control = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}
    async with gpu_framework(cluster.address) as framework:
        await framework.launch(framework.task("plain", "exec sleep 1000"))
        await framework.wait_running("plain")

        (pid,) = cluster.pids().values()
        assert cluster.machine.opens(pid) == control
        assert cluster.held() == {}


def test_a_node_that_a_task_makes_opens_no_other_card(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster(cards=2)
    make = "for minor in 0 1; do mknod own$minor c 195 $minor && cat own$minor; done"

    executed = cluster.execute(make, "cpus:0.1;mem:32;gpus:1")

    assert executed.states[-1] == "TASK_FAILED"
    assert cluster.outputs("stderr")[-1].splitlines() == [
        "cat: own0: No such device or address",  # its own: that no driver is there is found out behind the rules
        "cat: own1: Operation not permitted",
    ]


@one_view
async def test_it_is_told_what_a_container_has(start_gpu_cluster: StartGpuCluster) -> None:
    cluster = start_gpu_cluster(cards=2)
    async with gpu_framework(cluster.address) as framework:
        await framework.launch(framework.task("has-one", "exec sleep 1000", gpus=1))
        await framework.wait_running("has-one")
        (held,) = cluster.held().values()

        assert [gpu.uuid for gpu in framework.statuses["has-one"][-1].container_status.gpus] == held
        (executor,) = cluster.get("/state")["frameworks"][0]["executors"]
        assert [gpu["uuid"] for gpu in executor["tasks"][0]["statuses"][-1]["container_status"]["gpus"]] == held
        (monitored,) = cluster.get("/monitor/statistics")
        (gpu,) = monitored["statistics"]["gpus"]
        assert gpu == {
            "uuid": held[0],
            "minor": int(cluster.node_of(held[0]).removeprefix("nvidia")),
            "memory_total_bytes": 40960 * MIB,
            "memory_used_bytes": 512 * MIB,
            "utilization": 0.1,
        }
        assert cluster.metric(f"slave/gpus/{held[0]}/memory_used_bytes") == 512 * MIB
        assert (cluster.metric("slave/gpus_used"), cluster.metric("slave/gpus_percent")) == (1, 0.5)


def agent_client(cluster: GpuCluster) -> AgentClient:
    host, _, port = cluster.agent_address.partition(":")
    return AgentClient(TcpAddress(host, int(port)), timeout_s=20)
