"""What Mesos is given."""

import json
from random import Random

import pytest

from tests.launcher.builders import offer, wishes
from tfmesos.launcher import Job, JobSpecError, RunOptions, carrier
from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.blueprint import Blueprint
from tfmesos.launcher.containers import ContainerOptions
from tfmesos.launcher.events import NewTask
from tfmesos.launcher.messages import build_framework, build_task, read_offer
from tfmesos.launcher.placement import place
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2

Capability = mesos_pb2.FrameworkInfo.Capability


def options(*jobs: Job, container: ContainerOptions | None = None, protocol: str = "grpc") -> RunOptions:
    return RunOptions(
        jobs=jobs or (Job("worker", 1, cmd="true"),),
        framework_name="x",
        container=container or ContainerOptions(),
        protocol=protocol,
    )


@pytest.mark.parametrize(("gpus", "asks"), [(0, False), (1, True)])
def test_gpu_resources_is_declared_only_by_jobs_that_want_gpus(gpus: int, asks: bool) -> None:
    capabilities = {one.type for one in build_framework(options(Job("worker", 1, gpus=gpus))).capabilities}

    assert (Capability.GPU_RESOURCES in capabilities) == asks
    assert {Capability.PARTITION_AWARE, Capability.TASK_KILLING_STATE} <= capabilities


def test_a_framework_has_a_user_and_no_second_life() -> None:
    framework = build_framework(options())

    assert framework.user
    assert (framework.failover_timeout, framework.checkpoint) == (0, False)


@pytest.mark.parametrize(("embedded", "kept"), [(False, True), (True, False)])
def test_tasks_outlive_their_agent_where_one_comes_back(embedded: bool, kept: bool) -> None:
    job = Job("worker", 1, cmd="true")

    framework = build_framework(RunOptions(jobs=(job,), framework_name="x", checkpoint=True, embedded=embedded))

    assert framework.checkpoint == kept


def test_300_workers_with_long_names_get_the_whole_cluster() -> None:
    everyone = ClusterAddresses(
        tuple(TaskAddress(job="worker", index=n, host=f"node-{n:04}." + "a" * 60, port=31000 + n) for n in range(300))
    )
    blueprint = Blueprint(options(Job("worker", 300, cmd=["run", "{worker_hosts}"])), {})

    program = blueprint.program(everyone.tasks[299], everyone, "node")

    description = carrier.unpack(dict(program.environment))
    hosts = [task.text for task in everyone.tasks]
    assert description["command"] == ["run", ",".join(hosts)]
    assert json.loads(description["defaults"]["TF_CONFIG"])["cluster"]["worker"] == hosts
    assert max(len(value) for value in program.environment.values()) < 128 * 1024


def test_a_cluster_too_large_for_linux_is_refused_naming_the_variable() -> None:
    everyone = ClusterAddresses(
        tuple(TaskAddress(job="worker", index=n, host="a" * 200, port=31000) for n in range(700))
    )
    blueprint = Blueprint(options(Job("worker", 700, cmd="true")), {})

    with pytest.raises(JobSpecError, match=r"the variable TFMESOS_WORKER_HOSTS has .* bytes .*; Linux allows 131,071"):
        blueprint.program(everyone.tasks[0], everyone, "node")


def test_a_task_without_a_command_is_a_server_of_its_cluster() -> None:
    everyone = ClusterAddresses((TaskAddress(job="ps", index=1, host="h", port=7),))
    blueprint = Blueprint(options(Job("ps", 2, start=1), protocol="grpc+verbs"), {})

    description = carrier.unpack(dict(blueprint.program(everyone.tasks[0], everyone, "node").environment))

    assert description["command"] is None
    assert description["server"] == {
        "cluster": {"ps": {"1": "h:7"}},
        "job_name": "ps",
        "task_index": 1,
        "protocol": "grpc+verbs",
    }


def test_a_task_info_is_an_argv_with_the_offered_resources() -> None:
    chosen = options(Job("worker", 1, cmd="true"))
    placed = place(wishes(), [offer("1", "cpus(ml):4;mem:64;ports:[5-5]")], "ml", _random())
    assert placed is not None
    address = TaskAddress(job="worker", index=0, host="h", port=5)
    task = NewTask(task_id="worker-0.1", placed=placed[0], address=address)
    program = Blueprint(chosen, {"A": "é"}).program(address, ClusterAddresses((address,)), "node")

    info = build_task(task, program, chosen, 3.0)

    assert info.IsInitialized()
    assert (info.name, info.task_id.value, info.command.shell) == ("worker:0", "worker-0.1", False)
    assert info.command.value == info.command.arguments[0] == "python3"
    assert {one.name: one.value for one in info.command.environment.variables}["A"] == "é"
    assert info.resources[0].reservations[0].role == "ml"
    assert info.kill_policy.grace_period.nanoseconds == 3_000_000_000
    assert not info.HasField("container")


def test_an_agent_without_an_address_is_reached_by_its_name() -> None:
    message = mesos_pb2.Offer(hostname="node7")
    message.id.value, message.agent_id.value, message.framework_id.value = "o", "a", "f"
    assert read_offer(message).host == "node7"

    message.url.address.ip, message.url.address.port = "10.1.2.3", 5999
    assert read_offer(message).endpoint == ("10.1.2.3", 5999)


def test_an_offer_that_is_not_understood_is_of_no_use_but_not_lost() -> None:
    message = mesos_pb2.Offer(hostname="node7")
    message.id.value, message.agent_id.value, message.framework_id.value = "o", "a", "f"
    message.resources.add(name="cpus", type=mesos_pb2.Value.SCALAR).scalar.value = -1

    found = read_offer(message)

    assert (found.id, found.resources) == ("o", Resources())


def _random() -> Random:
    return Random(1)
