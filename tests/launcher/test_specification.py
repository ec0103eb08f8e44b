"""Jobs and volumes as users write them."""

import pytest

from tfmesos.launcher import (
    Containerizer,
    ContainerOptions,
    ExtraConfig,
    Job,
    JobSpecError,
    RunOptions,
    Volume,
    jobs_from,
)


def test_a_job_has_the_defaults_of_tfmesos() -> None:
    job = Job("ps", 2)

    assert (job.cpus, job.mem, job.gpus, job.cmd, list(job.indices)) == (1.0, 1024.0, 0, None, [0, 1])


def test_jobs_come_as_job_dict_or_a_list_of_either() -> None:
    ps = Job("ps", 1)

    assert jobs_from(ps) == (ps,)
    assert jobs_from({"name": "ps", "num": 1}) == (ps,)
    assert jobs_from([{"name": "ps", "num": 1}, Job("worker", 2, start=1)]) == (ps, Job("worker", 2, start=1))


def test_a_role_without_tasks_is_absent() -> None:
    assert [job.name for job in jobs_from([Job("ps", 0), Job("worker", 2)])] == ["worker"]


def test_one_whole_card_may_be_written_as_a_float() -> None:
    assert Job("worker", 1, gpus=1.0).gpus == 1


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"gpus": 0.5}, "gpus is 0.5, but a card cannot be shared"),
        ({"gpus": -1}, "gpus is -1; it cannot be negative"),
        ({"cpus": float("nan")}, "cpus is a number, not nan"),
        ({"cpus": True}, "cpus is a number, not True"),
        ({"mem": -5}, "mem is -5; it cannot be negative"),
        ({"cpus": 0.0004}, "cpus is 0.0004; Mesos takes 0.001 to"),
        ({"mem": 10**17}, "mem is 100000000000000000; Mesos takes 0.001 to"),
        ({"cpus": 0, "mem": 0}, "a task needs some cpus or mem"),
        ({"name": "a\nb"}, "control characters"),
        ({"name": "a/b"}, "must not hold"),
        ({"name": ""}, "cannot be ''"),
        ({"name": "\udcff"}, "not UTF-8"),
        ({"name": "x" * 200}, "200 bytes; at most 128"),
        ({"num": -1}, "num is -1; it cannot be negative"),
        ({"num": 1.5}, "num is a whole number, not 1.5"),
        ({"num": 2, "start": 2}, "has no tasks: start is 2, num is 2"),
        ({"cmd": []}, "a shell line or a list"),
        ({"cmd": ["a", "\udcff"]}, "not UTF-8"),
        ({"cmd": "a\0b"}, "holds a NUL"),
    ],
)
def test_what_cannot_be_a_job_is_refused_naming_it(values: dict[str, object], text: str) -> None:
    with pytest.raises(JobSpecError, match=text) as caught:
        Job.from_any({"name": "worker", "num": 1, **values})

    assert caught.value.exit_status == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("jobs", "text"),
    [
        ([], "a job with no tasks"),
        ([Job("worker", 0)], "a job with no tasks"),
        ([Job("ps", 1), Job("ps", 2)], "'ps' is given twice"),
        ("worker", "not str"),
        (3, "not int"),
        ([3], "a job is a Job or a dict, not int"),
        ({"name": "ps"}, "needs a 'num'"),
        ({"name": "ps", "num": 1, "cpu": 1}, "a job has no 'cpu'"),
    ],
)
def test_what_cannot_be_jobs_is_refused(jobs: object, text: str) -> None:
    with pytest.raises(JobSpecError, match=text):
        jobs_from(jobs)


@pytest.mark.parametrize(
    ("text", "volume"),
    [
        ("/a", Volume(source="/a", target="/a")),
        ("/a:/b", Volume(source="/a", target="/b")),
        ("/a:/b:ro", Volume(source="/a", target="/b", read_only=True)),
        ("/a:/b:rw", Volume(source="/a", target="/b")),
        ("/a b:/c/", Volume(source="/a b", target="/c")),
    ],
)
def test_volumes_are_read(text: str, volume: Volume) -> None:
    assert Volume.parse(text) == volume


@pytest.mark.parametrize(
    "text", ["", "relative:/b", "/a:b", "/a:", ":/b", "/a:/b:xx", "/a:/b:ro:/c", "/\udcff", "/a\n:/b"]
)
def test_other_volumes_are_refused_with_a_text(text: str) -> None:
    with pytest.raises(JobSpecError, match="volume"):
        Volume.parse(text)


def test_an_extra_config_is_read_from_a_mapping() -> None:
    assert ExtraConfig.from_mapping({"initializer": "echo a"}) == ExtraConfig(initializer="echo a")
    with pytest.raises(JobSpecError, match="finalizer is a shell command, not 3"):
        ExtraConfig.from_mapping({"finalizer": 3})
    with pytest.raises(JobSpecError, match="'initialiser' is unknown; initializer and finalizer are allowed"):
        ExtraConfig.from_mapping({"initialiser": "echo a"})


def test_an_extra_config_that_cannot_be_read_is_named(tmp_path: object) -> None:
    with pytest.raises(JobSpecError, match=r"cannot read the extra_config '/nowhere\.json'"):
        ExtraConfig.read("/nowhere.json")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"framework_name": "a\x01b"}, "must be one line without control characters"),
        ({"framework_name": ""}, "must be one line"),
        ({"role": "a b"}, "'a b' cannot be a role"),
        ({"role": "a//b"}, "cannot be a role"),
        ({"role": "-a"}, "cannot be a role"),
        ({"role": "\udcff"}, "the role .* is not UTF-8"),
        ({"container": ContainerOptions(type=Containerizer.DOCKER)}, "the DOCKER containerizer needs an image"),
        ({"container": ContainerOptions(image="a\nb")}, "the image .* must be one line"),
        ({"time_limit_s": 0}, "the time limit is 0 s; it must be more than 0"),
    ],
)
def test_options_that_mesos_would_refuse_are_refused(values: dict[str, object], text: str) -> None:
    with pytest.raises(JobSpecError, match=text):
        RunOptions(**{"jobs": (Job("worker", 1),), "framework_name": "x", **values})  # type: ignore[arg-type]


@pytest.mark.parametrize("role", ["*", "ml", "a/b/c", "é"])
def test_roles_of_mesos_are_accepted(role: str) -> None:
    assert RunOptions(jobs=(Job("worker", 1),), framework_name="x", role=role).role == role
