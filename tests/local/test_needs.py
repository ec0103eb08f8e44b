"""What the embedded cluster offers and refuses."""

from pathlib import Path

import pytest

from tfmesos.launcher import NeverFits, Volume
from tfmesos.local import LocalNeeds, LocalRefusal, check_needs
from tfmesos.local.handover import Answer, Handover
from tfmesos.local.machine import Machine, read_machine, resources_text, size_note
from tfmesos.resources import Resources

MACHINE = Machine(cpus=4, mem_mb=8000)


def needs(cpus: float = 1, mem_mb: float = 100, gpus: float = 0, ports: int = 2) -> LocalNeeds:
    return LocalNeeds(cpus=cpus, mem_mb=mem_mb, gpus=gpus, ports=ports)


def test_the_machine_is_offered_when_the_job_is_smaller() -> None:
    offered = Resources.parse(resources_text(MACHINE, needs(), (10, 12)))

    assert offered == Resources.parse("cpus:4;mem:8000;ports:[10-10,12-12]")
    assert size_note(MACHINE, needs()) is None


def test_the_job_is_offered_when_it_is_larger_and_that_is_said_in_one_line() -> None:
    large = needs(cpus=6.5, mem_mb=9000.25)

    assert Resources.parse(resources_text(MACHINE, large, ())) == Resources.parse("cpus:6.5;mem:9000.25")
    assert size_note(MACHINE, large) == (
        "the job asks for 6.5 cpus where this machine has 4 and 9000.25 MB of memory where this machine has 8000: "
        "its tasks share what there is"
    )


def test_this_machine_has_something() -> None:
    machine = read_machine()

    assert machine.cpus >= 1
    assert machine.mem_mb > 100


def test_gpus_are_refused() -> None:
    with pytest.raises(NeverFits, match="asks for 2 gpus, but the embedded cluster offers none"):
        check_needs(needs(gpus=2), image=None, volumes=[])


def test_an_image_is_refused() -> None:
    with pytest.raises(LocalRefusal, match="cannot run image 'busybox'"):
        check_needs(needs(), image="busybox", volumes=[])


def test_a_volume_that_is_there_already_is_accepted(tmp_path: Path) -> None:
    check_needs(needs(), image=None, volumes=[Volume.parse(str(tmp_path))])


def test_a_volume_to_mount_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalRefusal, match="the embedded cluster mounts nothing"):
        check_needs(needs(), image=None, volumes=[Volume.parse(f"{tmp_path}:/data")])


def test_a_volume_that_does_not_exist_is_refused() -> None:
    with pytest.raises(LocalRefusal, match="'/no/such' does not exist"):
        check_needs(needs(), image=None, volumes=[Volume.parse("/no/such")])


def test_a_volume_cannot_be_made_read_only(tmp_path: Path) -> None:
    with pytest.raises(LocalRefusal, match="cannot be read-only"):
        check_needs(needs(), image=None, volumes=[Volume.parse(f"{tmp_path}:{tmp_path}:ro")])


def test_what_is_handed_over_arrives_whole() -> None:
    handover = Handover(launcher_pid=1, runs_dir="/r", work_dir="/r/ä b", runtime_dir="/t", locks=(3, 4), needs=needs())

    assert Handover.from_json(handover.to_json()) == handover
    assert Answer.from_json(Answer(note="n").to_json()) == Answer(note="n")
