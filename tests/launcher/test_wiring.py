"""What a task is told of its gang."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.launcher import Job, JobSpecError, RunOptions, plan
from tfmesos.launcher.addresses import ClusterAddresses, TaskAddress
from tfmesos.launcher.containers import ContainerOptions
from tfmesos.launcher.environment import build_environment
from tfmesos.launcher.wiring import expand, wired_command, wired_variables


def cluster(**roles: int) -> ClusterAddresses:
    names = [(job, index) for job, count in roles.items() for index in range(count)]
    return ClusterAddresses(
        tuple(TaskAddress(job=job, index=index, host="h", port=1000 + n) for n, (job, index) in enumerate(names))
    )


def one(everyone: ClusterAddresses, job: str, index: int = 0) -> TaskAddress:
    return next(task for task in everyone.tasks if (task.job, task.index) == (job, index))


def tf_config(everyone: ClusterAddresses, job: str, index: int = 0) -> dict[str, dict[str, object]]:
    config: dict[str, dict[str, object]] = json.loads(wired_variables(one(everyone, job, index), everyone)["TF_CONFIG"])
    return config


def test_the_four_placeholders_are_replaced_in_each_argument() -> None:
    everyone = cluster(ps=2, worker=1)

    command = ("run", "--ps={ps_hosts}", "--w={worker_hosts}", "{job_name}/{task_index}{task_index}")

    assert wired_command(command, one(everyone, "ps", 1), everyone, placeholders=True) == (
        "run",
        "--ps=h:1000,h:1001",
        "--w=h:1002",
        "ps/11",
    )


@pytest.mark.parametrize(
    "argument",
    ['--cfg={"lr":0.1}', "${HOME}", "awk '{print $1}'", "{} {0}", "{ps_hosts", "{{x}}", "{PS_HOSTS}"],
)
def test_every_other_brace_is_the_users(argument: str) -> None:
    everyone = cluster(worker=1)

    assert expand(argument, one(everyone, "worker"), everyone) == argument


def test_what_was_inserted_is_not_looked_at_again() -> None:
    everyone = ClusterAddresses((TaskAddress(job="{task_index}", index=7, host="h", port=1),))

    assert expand("{job_name}", everyone.tasks[0], everyone) == "{task_index}"


@given(st.text(st.characters(exclude_characters="{", exclude_categories=["Cs"])))
def test_text_without_braces_is_left_alone(text: str) -> None:
    everyone = cluster(worker=1)

    assert expand(text, everyone.tasks[0], everyone) == text


def test_placeholders_can_be_off() -> None:
    everyone = cluster(worker=1)

    assert wired_command("echo {job_name}", everyone.tasks[0], everyone, placeholders=False) == (
        "sh",
        "-c",
        "echo {job_name}",
    )


def test_addresses_are_in_order_of_the_index_whatever_the_order_of_jobs() -> None:
    tasks = [TaskAddress(job="worker", index=index, host="h", port=10 + index) for index in (2, 0, 1)]
    tasks.append(TaskAddress(job="ps", index=0, host="::1", port=9))

    assert ClusterAddresses(tuple(tasks)).spec() == {"worker": ["h:10", "h:11", "h:12"], "ps": ["[::1]:9"]}


def test_a_role_that_does_not_start_at_zero_is_sparse() -> None:
    tasks = tuple(TaskAddress(job="worker", index=index, host="h", port=10 + index) for index in (2, 3))

    assert ClusterAddresses(tasks).spec() == {"worker": {2: "h:12", 3: "h:13"}}


def test_tf_config_has_the_present_roles_and_a_numeric_index() -> None:
    config = tf_config(cluster(ps=1, worker=2), "worker", 1)

    assert config == {
        "cluster": {"ps": ["h:1000"], "worker": ["h:1001", "h:1002"]},
        "task": {"type": "worker", "index": 1},
    }


def test_an_evaluator_is_in_nobodys_cluster_but_its_own() -> None:
    everyone = cluster(chief=1, worker=2, ps=1, evaluator=1)

    assert "evaluator" not in tf_config(everyone, "chief")["cluster"]
    own = tf_config(everyone, "evaluator")
    assert own["cluster"]["evaluator"] == ["h:1004"]
    assert own["task"] == {"type": "evaluator", "index": 0}


def test_the_variables_of_tfmesos() -> None:
    everyone = cluster(worker=2)

    variables = wired_variables(one(everyone, "worker", 1), everyone)

    assert {name: variables[name] for name in sorted(variables) if name != "TF_CONFIG"} == {
        "PYTHONUNBUFFERED": "1",
        "TFMESOS_DISTRIBUTED": "1",
        "TFMESOS_JOB_NAME": "worker",
        "TFMESOS_PS_HOSTS": "",
        "TFMESOS_TASK_INDEX": "1",
        "TFMESOS_WORKER_HOSTS": "h:1000,h:1001",
    }


def options(
    *,
    inherited: dict[bytes, bytes] | None = None,
    environment: tuple[tuple[str, str], ...] = (),
    embedded: bool = False,
    image: str | None = None,
    jobs: tuple[Job, ...] = (Job("worker", 1, cmd="true"),),
) -> RunOptions:
    return RunOptions(
        jobs=jobs,
        framework_name="test",
        inherited=inherited or {},
        environment=environment,
        embedded=embedded,
        container=ContainerOptions(image=image),
    )


INHERITED = {b"PATH": b"/bin", b"LC_ALL": b"C", b"SECRET": b"x", b"HOME": b"/h", b"BAD": b"\xff"}


def test_the_launchers_environment_goes_where_it_has_a_meaning() -> None:
    embedded = build_environment(options(inherited=INHERITED, embedded=True))
    elsewhere = build_environment(options(inherited=INHERITED))
    image = build_environment(options(inherited=INHERITED, image="python"))

    assert (set(embedded.variables), embedded.left_out) == ({"PATH", "LC_ALL", "SECRET", "HOME"}, ("BAD",))
    assert (set(elsewhere.variables), elsewhere.left_out) == ({"PATH", "LC_ALL", "HOME"}, ())
    assert not image.variables


def test_what_the_user_sets_wins() -> None:
    built = build_environment(options(inherited={b"PATH": b"/bin"}, environment=(("PATH", "/mine"), ("E", "é="))))

    assert built.variables == {"PATH": "/mine", "E": "é="}


def test_a_launcher_inside_a_task_does_not_pass_on_that_tasks_wiring() -> None:
    inside = {b"TFMESOS_DISTRIBUTED": b"1", b"TF_CONFIG": b"{}", b"MESOS_SANDBOX": b"/s", b"X": b"1"}

    assert build_environment(options(inherited=inside, embedded=True)).variables == {"X": "1"}


def test_a_tf_config_of_the_users_own_is_passed_on() -> None:
    built = build_environment(options(inherited={b"TF_CONFIG": b"mine"}, embedded=True))

    assert built.variables == {"TF_CONFIG": "mine"}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("A", "\udcff", "the value of the variable A .* is not UTF-8"),
        ("A=B", "x", "cannot be the name of a variable"),
        ("", "x", "cannot be the name of a variable"),
        ("A", "x" * (1 << 20), "the variable A has 1,048,578 bytes with its name; Linux allows 131,071"),
    ],
)
def test_a_variable_that_cannot_be_is_refused_before_submission(name: str, value: str, text: str) -> None:
    with pytest.raises(JobSpecError, match=text):
        build_environment(options(environment=((name, value),)))


def test_an_argument_beyond_linux_limit_is_refused_naming_it() -> None:
    job = Job("worker", 1, cmd=["echo", "x" * 200_000])

    with pytest.raises(JobSpecError, match="worker:0: argument 1 has 200,000 bytes; Linux allows 131,071"):
        plan(options(jobs=(job,)))


def test_a_dry_run_shows_command_environment_and_resources() -> None:
    jobs = (Job("ps", 1, cmd="serve {task_index}"), Job("worker", 1, cpus=0.5, mem=64, gpus=1))

    ps, worker = plan(options(jobs=jobs, environment=(("A", "b c"),)))

    assert ps.argv == ("sh", "-c", "serve 0")
    assert worker.to_text().startswith("worker:0\n  resources: cpus:0.5; mem:64; gpus:1; 1 port\n")
    assert "  command: (a TensorFlow server)\n" in worker.to_text()
    assert "  A='b c'" in worker.to_text()
    assert "  TFMESOS_WORKER_HOSTS=agent:31001" in worker.to_text()


def test_cards_are_hidden_from_tasks_that_asked_for_none_unless_the_user_shows_them() -> None:
    jobs = (Job("ps", 1, cmd="serve"), Job("worker", 1, cmd="work", gpus=1))

    ps, worker = plan(options(jobs=jobs))
    shown, _ = plan(options(jobs=jobs, environment=(("CUDA_VISIBLE_DEVICES", "3"),)))

    assert ps.environment["CUDA_VISIBLE_DEVICES"] == ""
    assert "CUDA_VISIBLE_DEVICES" not in worker.environment
    assert shown.environment["CUDA_VISIBLE_DEVICES"] == "3"


@pytest.mark.parametrize(("gpus", "passed_on"), [(0, {"CUDA_VISIBLE_DEVICES": "2,3"}), (1, {})])
def test_the_launchers_own_cards_are_the_agents_to_share_out_in_a_job_with_gpus(
    gpus: int, passed_on: dict[str, str]
) -> None:
    jobs = (Job("worker", 1, gpus=gpus),)
    inherited = {b"CUDA_VISIBLE_DEVICES": b"2,3"}

    assert build_environment(options(jobs=jobs, inherited=inherited, embedded=True)).variables == passed_on
    assert build_environment(options(jobs=jobs, inherited=inherited)).variables == {}
