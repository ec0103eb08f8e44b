"""posix/gpus: cards are counted, and named to tasks; nothing keeps a task from opening others."""

from __future__ import annotations

from tests.agent.waiting import eventually
from tests.gpu.conftest import StartGpuCluster, one_view
from tests.gpu.framework import gpu_framework

SHOW = 'echo "$CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER"; exec sleep 1000'


@one_view
async def test_each_task_is_told_its_own_cards_and_one_without_that_it_has_none(
    start_gpu_cluster: StartGpuCluster,
) -> None:
    cluster = start_gpu_cluster(cards=2, isolation="posix/gpus")
    first, second = sorted(cluster.machine.cards, key=lambda card: card.minor)
    async with gpu_framework(cluster.address) as framework:
        for name, gpus in (("first", 1), ("second", 1), ("none", 0)):
            await framework.launch(framework.task(name, SHOW, gpus=gpus))
            await framework.wait_running(name)

        await eventually(lambda: all(cluster.outputs()))
        told = {" \n", f"{first.uuid} PCI_BUS_ID\n", f"{second.uuid} PCI_BUS_ID\n"}
        assert set(cluster.outputs()) == told
        await framework.kill("first")
        await framework.wait_offers(gpus=1)
        assert [*cluster.held().values()] == [[second.uuid]]
