"""What the embedded cluster offers and refuses."""

from pathlib import Path

import pytest

from tfmesos.launcher import ContainerOptions, Job, RunOptions, Volume
from tfmesos.local import LocalNeeds, LocalRefusal, check_options
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


def options(*volumes: str, image: str | None = None, local_worker: bool = False, gpus: int = 0) -> RunOptions:
    return RunOptions(
        jobs=(Job("worker", 2, gpus=gpus),),
        framework_name="test",
        container=ContainerOptions(image=image, volumes=tuple(map(Volume.parse, volumes))),
        local_worker=local_worker,
    )


def test_a_local_worker_is_given_no_gpus() -> None:
    check_options(options(local_worker=True))
    with pytest.raises(LocalRefusal, match="a local worker is given no GPUs here"):
        check_options(options(local_worker=True, gpus=1))


def test_an_image_is_refused() -> None:
    with pytest.raises(LocalRefusal, match="cannot run image 'busybox'"):
        check_options(options(image="busybox"))


def test_a_volume_that_is_there_already_is_accepted(tmp_path: Path) -> None:
    check_options(options(str(tmp_path)))


def test_a_volume_to_mount_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalRefusal, match="the embedded cluster mounts nothing"):
        check_options(options(f"{tmp_path}:/data"))


def test_a_volume_that_does_not_exist_is_refused() -> None:
    with pytest.raises(LocalRefusal, match="'/no/such' does not exist"):
        check_options(options("/no/such"))


def test_a_volume_cannot_be_made_read_only(tmp_path: Path) -> None:
    with pytest.raises(LocalRefusal, match="cannot be read-only"):
        check_options(options(f"{tmp_path}:{tmp_path}:ro"))


def test_what_is_handed_over_arrives_whole() -> None:
    handover = Handover(launcher_pid=1, runs_dir="/r", work_dir="/r/ä b", runtime_dir="/t", locks=(3, 4), needs=needs())

    assert Handover.from_json(handover.to_json()) == handover
    answer = Answer(notes=("n", "m"), never_fits=True)
    assert Answer.from_json(answer.to_json()) == answer
