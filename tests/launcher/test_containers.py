"""What a job's tasks run in: what the user says, what Mesos is told, and what becomes of a start that takes long."""

from random import Random

import pytest

from tests.launcher.builders import offer, only, wishes
from tests.launcher.play import Play
from tfmesos.launcher import Containerizer, ContainerOptions, Job, JobSpecError, RunOptions, Volume, carrier, parse_shm
from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.blueprint import Blueprint
from tfmesos.launcher.events import NewTask, Say
from tfmesos.launcher.messages import build_framework, build_task
from tfmesos.launcher.placement import place
from tfmesos.launcher.rules import BEFORE_1_0, MODERN, MesosRules, rules_of
from tfmesos.wire import mesos_pb2

Docker = mesos_pb2.ContainerInfo.DockerInfo
ADDRESS = TaskAddress(job="worker", index=0, host="h", port=5)


def task_in(
    container: ContainerOptions, *, user: str = "root", rules: MesosRules = MODERN, **more: object
) -> mesos_pb2.TaskInfo:
    options = RunOptions(jobs=(Job("worker", 1, cmd="true"),), framework_name="x", user=user, container=container)
    placed = place(wishes(), [offer("1", "cpus(ml):4;mem:64;ports:[5-5]")], "ml", Random(1))
    assert placed is not None
    program = Blueprint(options, {}).program(ADDRESS, ClusterAddresses((ADDRESS,)), "node")
    task = NewTask(task_id="worker-0.1", placed=placed[0], address=ADDRESS)
    return build_task(task, program, options, 3.0, rules=rules, **more)  # type: ignore[arg-type]


def mounts(task: mesos_pb2.TaskInfo) -> list[tuple[str, str, bool]]:
    volumes = task.container.volumes
    return [(one.host_path, one.container_path, one.mode == mesos_pb2.Volume.RO) for one in volumes]


def parameters(task: mesos_pb2.TaskInfo) -> list[tuple[str, str]]:
    return [(one.key, one.value) for one in task.container.docker.parameters]


VOLUMES = (Volume.parse("/data:/data"), Volume.parse("/a:/b:ro"))


def test_volumes_at_one_path_are_refused() -> None:
    with pytest.raises(JobSpecError, match="two volumes would be at '/b': each needs a path of its own"):
        ContainerOptions(image="tf:1", volumes=(*VOLUMES, Volume.parse("/c:/b/")))


def test_an_image_of_the_mesos_containerizer() -> None:
    task = task_in(ContainerOptions(image="tf:1", volumes=VOLUMES, force_pull=True))

    container = task.container
    assert (container.type, container.mesos.image.docker.name) == (mesos_pb2.ContainerInfo.MESOS, "tf:1")
    assert container.mesos.image.cached is False
    assert mounts(task) == [("/data", "/data", False), ("/a", "/b", True)]
    assert (task.command.value, task.command.arguments[0]) == ("python3", "python3")


def test_an_image_of_the_docker_containerizer_uses_the_hosts_network_and_not_the_images_entry_point() -> None:
    task = task_in(ContainerOptions(type=Containerizer.DOCKER, image="tf:1", force_pull=True))

    docker = task.container.docker
    assert (task.container.type, docker.image) == (mesos_pb2.ContainerInfo.DOCKER, "tf:1")
    assert docker.force_pull_image
    assert docker.network == Docker.HOST
    assert not task.command.HasField("value")
    assert (parameters(task)[0], task.command.arguments[0]) == (("entrypoint", "python3"), "-S")


def test_without_an_image_only_volumes_that_need_a_mount_are_asked_for() -> None:
    assert mounts(task_in(ContainerOptions(volumes=VOLUMES))) == [("/a", "/b", True)]
    assert not task_in(ContainerOptions(volumes=VOLUMES[:1])).HasField("container")


@pytest.mark.parametrize("kind", Containerizer)
def test_an_image_is_told_of_the_agents_users(kind: Containerizer) -> None:
    task = task_in(ContainerOptions(type=kind, image="tf:1", volumes=VOLUMES[:1]), user="ann")

    assert mounts(task) == [
        ("/etc/passwd", "/etc/passwd", True),
        ("/etc/group", "/etc/group", True),
        ("/data", "/data", False),
    ]


def test_the_users_own_passwd_wins_and_root_is_root_in_every_image() -> None:
    own = Volume.parse("/my/passwd:/etc/passwd:ro")

    assert mounts(task_in(ContainerOptions(image="x", volumes=(own,)), user="ann")) == [
        ("/etc/group", "/etc/group", True),
        ("/my/passwd", "/etc/passwd", True),
    ]
    assert mounts(task_in(ContainerOptions(image="x"), user="root")) == []


@pytest.mark.parametrize("image", ["tf:1", None])
def test_shared_memory_is_asked_of_mesos(image: str | None) -> None:
    linux = task_in(ContainerOptions(image=image, shm_mb=2048)).container.linux_info

    assert (linux.ipc_mode, linux.shm_size) == (mesos_pb2.LinuxInfo.PRIVATE, 2048)


def test_shared_memory_is_asked_of_docker_and_never_less_than_the_tasks_memory() -> None:
    chosen = ContainerOptions(type=Containerizer.DOCKER, image="tf:1")

    assert ("shm-size", "64m") in parameters(task_in(chosen))
    larger = ContainerOptions(type=Containerizer.DOCKER, image="tf:1", shm_mb=2048)
    assert ("shm-size", "2048m") in parameters(task_in(larger))


@pytest.mark.parametrize(
    ("text", "megabytes"), [("512m", 512), ("2g", 2048), ("1.5GB", 1536), ("1k", 1), ("2 GiB", 2048), ("1T", 1048576)]
)
def test_sizes_of_shared_memory(text: str, megabytes: int) -> None:
    assert parse_shm(text) == megabytes


@pytest.mark.parametrize("text", ["", "2", "g", "-1g", "0m", "2x", "1e3m", "9999t", "٢g"])
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(JobSpecError, match=r"the size of /dev/shm"):
        parse_shm(text)


# -- where a task starts in an image


@pytest.mark.parametrize(
    ("volumes", "own", "starts"),
    [
        (["/nfs/mnist:/nfs/mnist"], "/nfs/mnist", "/nfs/mnist"),
        (["/nfs/mnist:/nfs/mnist"], "/nfs/mnist/a/b", "/nfs/mnist/a/b"),
        (["/home/ann/code:/code"], "/home/ann/code/src", "/code/src"),
        (["/host/code:/app"], "/app/src", "/app/src"),
        (["/nfs:/nfs", "/nfs/code:/code"], "/nfs/code/src", "/code/src"),
        (["/:/host"], "/home/ann", "/host/home/ann"),
        (["/nfs/mnist:/nfs/mnist"], "/nfs/mnist2", None),
        (["/data:/data:ro"], "/home/ann", None),
        ([], "/home/ann", None),
    ],
)
def test_a_task_in_an_image_starts_where_the_launcher_is_if_a_volume_brings_that_along(
    volumes: list[str], own: str, starts: str | None
) -> None:
    container = ContainerOptions(image="x", volumes=tuple(map(Volume.parse, volumes)))

    assert container.directory(own) == starts
    assert ContainerOptions(volumes=container.volumes).directory(own) == own


def test_the_carrier_in_an_image_is_told_who_it_is_and_uses_the_images_python() -> None:
    options = RunOptions(
        jobs=(Job("worker", 1),),
        framework_name="x",
        user="ann",
        container=ContainerOptions(image="x"),
        embedded=True,
        directory="/home/ann",
    )

    program = Blueprint(options, {}).program(ADDRESS, ClusterAddresses((ADDRESS,)), "node")

    description = carrier.unpack(dict(program.environment))
    assert program.argv[0] == "python3"
    assert (description["user"], description["python"], description["directory"]) == ("ann", None, None)


def test_worker_0_on_the_users_machine_stays_there() -> None:
    volumes = (Volume.parse("/home/ann:/code"),)
    options = RunOptions(
        jobs=(Job("worker", 1, cmd="true"),),
        framework_name="x",
        container=ContainerOptions(image="x", volumes=volumes),
        directory="/home/ann",
        local_worker=True,
    )

    here, there = (
        carrier.unpack(dict(Blueprint(options, {}).program(ADDRESS, ClusterAddresses((ADDRESS,)), agent).environment))
        for agent in (None, "node")
    )

    assert (here["directory"], here["user"]) == ("/home/ann", None)
    assert there["directory"] == "/code"


# -- a master's version


@pytest.mark.parametrize(
    ("version", "rules"),
    [
        ("1.11.0", MODERN),
        ("1.0.0", MODERN),
        ("1.0.0-rc2", MODERN),
        ("2.0", MODERN),
        ("v1.9.0+git-4f2a", MODERN),
        ("10.0.0", MODERN),
        ("0.28.2", BEFORE_1_0),
        ("0.28.3-rc1", BEFORE_1_0),
        ("0.25.0-0.2.70.ubuntu1404", BEFORE_1_0),
        ("0.6.0", MODERN),  # ClusterD's own numbers
        ("ClusterD 0.6.0", MODERN),
        ("", MODERN),
        ("unknown", MODERN),
    ],
)
def test_the_masters_version_decides(version: str, rules: MesosRules) -> None:
    assert rules_of(version) == rules


def test_an_old_master_gets_docker_and_no_capabilities() -> None:
    options = RunOptions(jobs=(Job("worker", 1, gpus=1),), framework_name="x")

    assert not build_framework(options, BEFORE_1_0).capabilities
    task = task_in(ContainerOptions(image="tf:1"), rules=BEFORE_1_0, parameters=(("device", "/dev/nvidia0"),))
    assert task.container.type == mesos_pb2.ContainerInfo.DOCKER
    assert parameters(task)[-1] == ("device", "/dev/nvidia0")
    assert (task.resources[0].role, len(task.resources[0].reservations)) == ("ml", 0)


@pytest.mark.parametrize("rules", [MODERN, BEFORE_1_0])
def test_a_containerizer_that_the_user_names_stands(rules: MesosRules) -> None:
    chosen = ContainerOptions(type=Containerizer.MESOS, image="tf:1")

    assert task_in(chosen, rules=rules).container.type == mesos_pb2.ContainerInfo.MESOS


# -- while an image is pulled


def said(play: Play, seconds: float) -> list[str]:
    return [say.text for say in only(play.wait(seconds), Say)]


def test_a_slow_pull_is_told_now_and_then_and_ends_no_job() -> None:
    play = Play(Job("worker", 2, cmd="work"), image="tf:1")
    first, second = play.launch()

    assert said(play, 2.9) == []
    assert said(play, 0.1) == ["pulling image 'tf:1' on host-a0: 2 tasks wait for it, 3 s so far"]
    play.says(first.task_id, "RUNNING")
    assert said(play, 30) == ["pulling image 'tf:1' on host-a0: 1 task waits for it, 33 s so far"]
    assert said(play, 3600) == ["pulling image 'tf:1' on host-a0: 1 task waits for it, 3633 s so far"]
    play.says(second.task_id, "STARTING")
    assert said(play, 3600) == []
    assert play.gang.wakes_at is None


def test_a_job_without_an_image_pulls_nothing() -> None:
    play = Play(Job("worker", 1, cmd="work"))
    play.launch()

    assert play.gang.wakes_at is None
