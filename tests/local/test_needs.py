"""What the embedded cluster offers and refuses."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tfmesos.agent import AgentFlags
from tfmesos.launcher import Containerizer, ContainerOptions, Job, RunOptions, Volume
from tfmesos.local import LocalNeeds, LocalRefusal, check_options
from tfmesos.local.agent_flags import build_flags, contained, volume_directory
from tfmesos.local.handover import Answer, Handover
from tfmesos.local.machine import Machine, read_machine, resources_text, size_notes
from tfmesos.resources import Resources

MACHINE = Machine(cpus=4, mem_mb=8000)


def needs(cpus: float = 1, mem_mb: float = 100, gpus: int = 0, ports: int = 2) -> LocalNeeds:
    return LocalNeeds(cpus=cpus, mem_mb=mem_mb, gpus=gpus, ports=ports)


def test_the_machine_is_offered_when_the_job_is_smaller() -> None:
    offered = Resources.parse(resources_text(MACHINE, needs(), (10, 12)))

    assert offered == Resources.parse("cpus:4;mem:8000;ports:[10-10,12-12]")
    assert size_notes(MACHINE, needs()) == ()


def test_the_job_is_offered_when_it_is_larger_and_that_is_said_in_one_line() -> None:
    large = needs(cpus=6.5, mem_mb=9000.25)

    assert Resources.parse(resources_text(MACHINE, large, ())) == Resources.parse("cpus:6.5;mem:9000.25")
    assert size_notes(MACHINE, large) == (
        "the job asks for 6.5 cpus where this machine has 4 and 9000.25 MB of memory where this machine has 8000: "
        "its tasks share what there is",
    )


def test_this_machine_has_something() -> None:
    machine = read_machine()

    assert machine.cpus >= 1
    assert machine.mem_mb > 100


def options(
    *volumes: str,
    image: str | None = None,
    shm_mb: int | None = None,
    kind: Containerizer | None = None,
    local_worker: bool = False,
    gpus: int = 0,
) -> RunOptions:
    container = ContainerOptions(type=kind, image=image, volumes=tuple(map(Volume.parse, volumes)), shm_mb=shm_mb)
    jobs = (Job("worker", 2, gpus=gpus),)
    return RunOptions(jobs=jobs, framework_name="test", container=container, local_worker=local_worker)


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who is not root."""
    monkeypatch.setattr(os, "geteuid", lambda: 65534)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root, as far as can be asked."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_a_local_worker_is_given_no_gpus() -> None:
    check_options(options(local_worker=True))
    with pytest.raises(LocalRefusal, match="a local worker is given no GPUs here"):
        check_options(options(local_worker=True, gpus=1))


@pytest.mark.usefixtures("root")
def test_root_may_have_all_kinds_of_containers(tmp_path: Path) -> None:
    check_options(options(f"{tmp_path}:/data:ro", image="busybox", shm_mb=64))


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (options(image="busybox"), r"^image 'busybox' needs root here: run this as root, or give a cluster with -m, "),
        (options("/etc:/x"), r"^volume '/etc:/x' has to be mounted, which needs root: run this as root"),
        (options("/etc:/etc:ro"), r"^volume '/etc:/etc:ro' has to be mounted"),
        (options(shm_mb=64), r"^a /dev/shm of 64 MB has to be mounted"),
    ],
)
def test_others_are_told_in_a_line_what_needs_root(asked: RunOptions, text: str) -> None:
    with pytest.raises(LocalRefusal, match=text):
        check_options(asked)


@pytest.mark.usefixtures("nobody")
def test_others_may_have_what_docker_makes_or_what_is_there_already(tmp_path: Path) -> None:
    check_options(options(str(tmp_path)))
    check_options(options(f"{tmp_path}:/data", image="busybox", kind=Containerizer.DOCKER))


def test_a_volume_that_does_not_exist_is_refused() -> None:
    with pytest.raises(LocalRefusal, match="'/no/such' does not exist on this machine"):
        check_options(options("/no/such:/data", image="busybox"))


# -- what its agent is told


def flags(environ: Mapping[str, str] | None = None, **asked: Any) -> AgentFlags:
    """With nothing of the one who runs the test."""
    settings = {"DOCKER_CONFIG": "/no/such", **(environ or {})}
    where = {"master": "127.0.0.1:5050", "ip": "127.0.0.1", "port": 5051, "work_dir": "/w", "resources": "cpus:1"}
    return build_flags(settings, replace(needs(), **asked), **where)  # type: ignore[arg-type]


def test_a_plain_job_needs_no_root() -> None:
    told = contained(flags(), needs())

    assert (told.launcher, told.image_providers, told.containerizers) == ("posix", (), ("mesos",))


@pytest.mark.parametrize(
    ("asked", "isolation"),
    [
        ({"image": "x"}, "filesystem/linux,docker/runtime"),
        ({"has_mounts": True}, "filesystem/linux"),
        ({"has_shm": True}, "filesystem/linux,namespaces/ipc"),
        ({"image": "x", "gpus": 1}, "filesystem/linux,docker/runtime,cgroups/devices,gpu/nvidia"),
    ],
)
def test_a_contained_job_is_given_the_isolators_it_needs(asked: dict[str, Any], isolation: str) -> None:
    told = contained(flags(), replace(needs(), **asked))

    assert (told.launcher, told.isolation) == ("linux", isolation)
    assert told.image_providers == (("DOCKER",) if "image" in asked else ())


def test_a_job_in_docker_needs_the_engine_only() -> None:
    told = contained(flags(), replace(needs(), image="x", in_docker=True, has_mounts=True))

    assert (told.containerizers, told.launcher, told.image_providers) == (("docker", "mesos"), "posix", ())


def test_images_are_kept_in_the_users_cache(tmp_path: Path) -> None:
    assert flags({"XDG_CACHE_HOME": str(tmp_path)}).docker_store_dir == f"{tmp_path}/tfmesos/images"
    assert flags({"XDG_CACHE_HOME": "x"}).docker_store_dir.endswith("/.cache/tfmesos/images")
    assert volume_directory({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "tfmesos/gpu"


def test_the_user_says_where_this_machine_keeps_things_and_nothing_else() -> None:
    settings = {"MESOS_DOCKER_REGISTRY": "/images", "MESOS_OCI_RUNTIME": "crun", "MESOS_IP": "0.0.0.0"}

    told = flags(settings, image="x")

    assert (told.docker_registry, told.oci_runtime, told.ip) == ("/images", "crun", "127.0.0.1")
    assert flags(settings).oci_runtime is None


def test_logins_are_those_of_docker(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"auths": {}, "credsStore": "desktop"}')

    assert flags({"DOCKER_CONFIG": str(tmp_path)}, image="x").docker_config == '{"auths": {}, "credsStore": "desktop"}'
    own = {"DOCKER_CONFIG": str(tmp_path), "MESOS_DOCKER_CONFIG": "{}"}
    assert flags(own, image="x").docker_config == "{}"
    assert flags({"DOCKER_CONFIG": str(tmp_path)}).docker_config is None


def test_logins_that_cannot_be_read_concern_jobs_with_images_only(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")

    with pytest.raises(LocalRefusal, match=f"the logins in {tmp_path}/config.json cannot be read"):
        flags({"DOCKER_CONFIG": str(tmp_path)}, image="x")
    assert flags({"DOCKER_CONFIG": str(tmp_path)}).docker_config is None


def test_what_is_handed_over_arrives_whole() -> None:
    handover = Handover(launcher_pid=1, runs_dir="/r", work_dir="/r/ä b", runtime_dir="/t", locks=(3, 4), needs=needs())

    assert Handover.from_json(handover.to_json()) == handover
    answer = Answer(notes=("n", "m"), never_fits=True)
    assert Answer.from_json(answer.to_json()) == answer
