"""Instances of a card in MIG mode: each is one GPU, with nodes and a name of its own (G12)."""

from __future__ import annotations

from tests.agent.waiting import eventually
from tests.gpu.conftest import StartGpuCluster
from tests.gpu.framework import gpu_framework

CONTROL = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}


async def test_each_instance_is_one_gpu_and_opens_its_own_nodes_alone(start_gpu_cluster: StartGpuCluster) -> None:
    # given a card with two instances, and one that is whole
    cluster = start_gpu_cluster(cards=2, mig={0: 2})
    split, whole = cluster.machine.cards
    nodes = {whole.uuid: {whole.node}} | {one.uuid: {split.node, *one.nodes} for one in split.instances}
    assert cluster.get("/state")["resources"]["gpus"] == 3

    # when each is some task's
    async with gpu_framework(cluster.address) as framework:
        for left, name in enumerate(("a", "b", "c")):
            await framework.wait_offers(gpus=3 - left)
            await framework.launch(framework.task(name, "echo $CUDA_VISIBLE_DEVICES; exec sleep 1000", gpus=1))
        await framework.wait_running("a", "b", "c")

        # then it has a name and the nodes of its own, and no other's
        held, pids = cluster.held(), cluster.pids()
        assert sorted(name for (name,) in held.values()) == sorted(nodes)
        await eventually(lambda: all(cluster.outputs()))
        assert sorted(text.strip() for text in cluster.outputs()) == sorted(nodes)
        for container, (name,) in held.items():
            assert cluster.machine.opens(pids[container]) == CONTROL | nodes[name]
