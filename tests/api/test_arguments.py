"""The arguments of cluster(): the names and forms of 0.0.10, refused before anything starts."""

import os
from pathlib import Path

import pytest

from tfmesos import Job, cluster
from tfmesos.api.arguments import ClusterArguments
from tfmesos.api.master import find_master
from tfmesos.errors import TfmesosError
from tfmesos.launcher import Containerizer, JobSpecError, NeverFits


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MESOS_MASTER", raising=False)
    monkeypatch.delenv("DOCKER_IMAGE", raising=False)


@pytest.mark.parametrize(
    ("given", "environ", "master"),
    [
        (None, {}, None),
        ("", {}, None),
        ("local", {}, None),
        ("local", {"MESOS_MASTER": "h:1"}, None),
        (None, {"MESOS_MASTER": "h:1"}, "h:1"),
        ("", {"MESOS_MASTER": "h:1"}, "h:1"),
        (None, {"MESOS_MASTER": "local"}, None),
        (None, {"MESOS_MASTER": ""}, None),
        ("h:2", {"MESOS_MASTER": "h:1"}, "h:2"),
    ],
)
def test_which_master(given: str | None, environ: dict[str, str], master: str | None) -> None:
    assert find_master(given, environ) == master


def test_the_arguments_become_options() -> None:
    options = ClusterArguments(
        jobs=[{"name": "ps", "num": 2}, Job("worker", 1, cmd=["x"])],
        role="dev",
        name="n",
        quiet=True,
        volumes={"/a": "/b"},
        containerizer_type="docker",
        force_pull_image=True,
        env={"A": "b"},
        extra_config={"initializer": "i"},
        image="busybox",
        shm="2g",
    ).to_options()

    assert [(job.name, job.num) for job in options.jobs] == [("ps", 2), ("worker", 1)]
    assert (options.role, options.framework_name, options.quiet) == ("dev", "n", True)
    (volume,) = options.container.volumes
    assert (volume.source, volume.target) == ("/a", "/b")
    assert options.container.type is Containerizer.DOCKER
    assert (options.container.image, options.container.force_pull, options.container.shm_mb) == ("busybox", True, 2048)
    assert options.environment == (("A", "b"),)
    assert options.extra_config.initializer == "i"
    assert options.directory == os.getcwd()


def test_volumes_may_be_texts() -> None:
    options = ClusterArguments(jobs=Job("w", 1), volumes=["/a", "/b:/c:ro"]).to_options()

    assert [(each.source, each.target, each.read_only) for each in options.container.volumes] == [
        ("/a", "/a", False),
        ("/b", "/c", True),
    ]


def test_the_image_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_IMAGE", "busybox")

    assert ClusterArguments(jobs=Job("w", 1)).to_options().container.image == "busybox"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"jobs": []}, "no tasks"),
        ({"jobs": Job("w", 0)}, "no tasks"),
        ({"jobs": 3}, "a Job, a dict, or a list"),
        ({"jobs": {"name": "w"}}, "'num'"),
        ({"jobs": {"name": "w", "num": 1, "cpu": 2}}, "'cpu'"),
        ({"jobs": {"name": "w", "num": 1, "gpus": -1}}, "negative"),
        ({"jobs": {"name": "w", "num": 1, "gpus": 0.5}}, "cannot be shared"),
        ({"jobs": {"name": "a\nb", "num": 1}}, "control characters"),
        ({"name": "a\nb"}, "control characters"),
        ({"name": ""}, "one line"),
        ({"name": 3}, "the name is a text, not 3"),
        ({"role": "a b"}, "cannot be a role"),
        ({"volumes": "/a"}, "a list of texts or a dict"),
        ({"volumes": ["a"]}, "absolute"),
        ({"volumes": [("/a", "/b")]}, "a volume of a list is a text, not ('/a', '/b')"),
        ({"image": 3}, "the image is a text, not 3"),
        ({"containerizer_type": 3}, "containerizer_type is a text, not 3"),
        ({"shm": "much"}, "the size of /dev/shm 'much' is not a number with its unit"),
        ({"containerizer_type": "LXC"}, "MESOS and DOCKER are allowed"),
        ({"containerizer_type": "DOCKER"}, "needs an image"),
        ({"protocol": "grpc+verbs"}, "grpc is allowed"),
        ({"env": {"A": 1}}, "env maps texts to texts"),
        ({"env": {"A=B": "1"}}, "A=B"),
        ({"extra_config": {"initializer": 3}}, "initializer"),
        ({"image": "No Image"}, "Failed to parse docker image 'No Image'"),
        ({"volumes": {"/no/such": "/elsewhere"}}, "does not exist on this machine"),
        ({"master": "not a master"}, "not a master"),
    ],
)
def test_what_is_wrong_is_told_before_anything_starts(arguments: dict[str, object], text: str) -> None:
    given = {"jobs": Job("w", 1), **arguments}

    with pytest.raises(TfmesosError) as caught, cluster(**given):  # type: ignore[arg-type]
        pytest.fail("it started")

    assert text in str(caught.value)
    assert caught.value.exit_status == 2


def test_tasks_cannot_start_in_a_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(JobSpecError, match="does not exist any more"):
        cluster(Job("w", 1))


def test_tasks_cannot_start_in_a_directory_that_mesos_cannot_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = os.path.join(os.fsencode(tmp_path), b"\xff")
    os.mkdir(strange)
    monkeypatch.chdir(os.fsdecode(strange))

    with pytest.raises(JobSpecError, match="the current directory is not UTF-8"):
        cluster(Job("w", 1))


def test_cards_that_are_not_there_can_never_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # where there are some they are not for this job

    with pytest.raises(NeverFits, match="the job asks for 1 gpus, but this machine has "), cluster(Job("w", 1, gpus=1)):
        pytest.fail("it started")


def test_forward_addresses_is_accepted_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="forward_addresses is ignored"), pytest.raises(JobSpecError):
        cluster([], forward_addresses={"a": "b"})
