"""From the flags of mesos-execute to what is sent: checks in Mesos' order, messages as stock Mesos sends them."""

import os
import pwd
from pathlib import Path

import pytest

from tfmesos.cli.execute.errors import ExecuteError, UsageError
from tfmesos.cli.execute.flags import ExecuteFlags
from tfmesos.cli.execute.request import Request, build_request
from tfmesos.flags import FlagError, load_flags
from tfmesos.wire import mesos_pb2

TASK = '{"name":"n","task_id":{"value":"t"},"agent_id":{"value":""},"resources":[],"command":{"value":"true"}}'


def request_of(*words: str) -> Request:
    return build_request(load_flags(ExecuteFlags, ["--master=h:5050", *words], None))


def capabilities(request: Request) -> list[str]:
    return [mesos_pb2.FrameworkInfo.Capability.Type.Name(item.type) for item in request.framework.capabilities]


def test_a_plain_task() -> None:
    request = request_of("--name=success", "--command=echo hello")

    (task,) = request.tasks
    assert (task.name, task.task_id.value, task.agent_id.value) == ("success", "success", "")
    assert (task.command.shell, task.command.value) == (True, "echo hello")
    assert [(each.name, each.scalar.value) for each in task.resources] == [("cpus", 1.0), ("mem", 128.0)]
    assert not task.HasField("container")
    assert request.executor is None


def test_the_framework_is_that_of_stock_mesos() -> None:
    request = request_of("--name=a", "--command=true")

    assert request.framework.name == "mesos-execute instance"
    assert request.framework.user == pwd.getpwuid(os.geteuid()).pw_name
    assert request.framework.role == "*"
    assert not request.framework.HasField("principal")
    assert capabilities(request) == [
        "RESERVATION_REFINEMENT",
        "TASK_KILLING_STATE",
        "REVOCABLE_RESOURCES",
        "PARTITION_AWARE",
    ]


def test_what_the_framework_may_be_asked() -> None:
    request = request_of(
        "--name=a",
        "--command=true",
        "--framework_capabilities=GPU_RESOURCES",
        "--no-partition_aware",
        "--role=dev",
        "--principal=me",
        "--checkpoint",
    )

    assert capabilities(request)[-1] == "GPU_RESOURCES"
    assert "PARTITION_AWARE" not in capabilities(request)
    assert (request.framework.role, request.framework.principal, request.framework.checkpoint) == ("dev", "me", True)


def test_without_a_shell_the_command_is_empty() -> None:
    (task,) = request_of("--name=argv", "--no-shell").tasks

    assert task.command.shell is False
    assert not task.command.HasField("value")


def test_the_environment_becomes_variables() -> None:
    (task,) = request_of("--name=a", "--command=true", '--env={"A":"b","C":"ü"}').tasks

    assert {each.name: each.value for each in task.command.environment.variables} == {"A": "b", "C": "ü"}


def test_json_may_lie_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(TASK)

    for words in (f"--task={file}", f"--task=file://{file}", f"--task={TASK}"):
        assert request_of(words).tasks[0].task_id.value == "t"


def test_a_group_has_the_default_executor() -> None:
    request = request_of(f'--task_group={{"tasks":[{TASK}]}}', "--networks=net")

    assert request.executor is not None
    assert request.executor.type == mesos_pb2.ExecutorInfo.DEFAULT
    assert request.executor.executor_id.value == "default-executor"
    assert [(each.name, each.scalar.value) for each in request.executor.resources] == [
        ("cpus", 0.1),
        ("mem", 32.0),
        ("disk", 32.0),
    ]
    assert [net.name for net in request.executor.container.network_infos] == ["net"]


def test_a_mesos_container_with_everything() -> None:
    (task,) = request_of(
        "--name=a",
        "--command=true",
        "--docker_image=busybox",
        "--tty",
        "--networks=one,two",
        '--effective_capabilities={"capabilities":["NET_RAW"]}',
        '--rlimits={"rlimits":[{"type":"RLMT_STACK","soft":8192,"hard":32768}]}',
        '--volumes=[{"host_path":"/a","container_path":"/b","mode":"RW"}]',
    ).tasks

    container = task.container
    assert container.type == mesos_pb2.ContainerInfo.MESOS
    assert container.mesos.image.docker.name == "busybox"
    assert container.HasField("tty_info")
    assert [net.name for net in container.network_infos] == ["one", "two"]
    assert len(container.linux_info.effective_capabilities.capabilities) == 1
    assert container.rlimit_info.rlimits[0].hard == 32768
    assert container.volumes[0].container_path == "/b"


def test_a_docker_container() -> None:
    (task,) = request_of("--name=a", "--command=true", "--containerizer=docker", "--docker_image=i").tasks

    assert task.container.type == mesos_pb2.ContainerInfo.DOCKER
    assert task.container.docker.image == "i"
    assert not task.container.docker.HasField("network")


def test_an_empty_containerizer_means_no_container() -> None:
    (task,) = request_of("--name=a", "--command=true", "--containerizer=").tasks

    assert not task.HasField("container")


BOTH = f'--task_group={{"tasks":[{TASK}]}}'


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((f"--task={TASK}", BOTH), "Either task or task group should be set but not both"),
        (("--command=true",), "Missing required option --name"),
        (("--name=a",), "Missing required option --command"),
        (
            (f"--task={TASK}", "--name=a"),
            "'--name, --command, --env, --appc_image, --docker_image, --volumes' can only",
        ),
        ((f"--task={TASK}", "--networks=n"), "'--networks' can only be set when '--task' is not set"),
    ],
)
def test_flags_that_contradict_each_other_show_the_usage(words: tuple[str, ...], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        request_of(*words)

    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--content_type=xml", "--resources=nonsense"), "Invalid content type 'xml'"),
        (("--docker_image=a", "--appc_image=b"), "Flags '--docker_image' and '--appc_image' are both set"),
        (("--framework_capabilities=NONSENSE",), "Flags '--framework_capabilities' specifies an unknown capability"),
        (("--framework_capabilities=MULTI_ROLE",), "Flags '--framework_capabilities' specifies an unsupported"),
        (("--resources=cpus:x",), "Failed to parse resources 'cpus:x': Bad type for resource cpus value x type TEXT"),
        (("--containerizer=docker",), "'Docker' containerizer requires docker image name to be specified"),
        (("--containerizer=docker", "--docker_image=i", "--tty"), "'Docker' containerizer does not allow attaching"),
        (("--containerizer=docker", "--docker_image=i", "--networks=a,b"), "'Docker' containerizer can only support"),
        (("--containerizer=other",), "Unsupported containerizer: other"),
        (("--volumes={}",), "Failed to convert '--volumes' to protobuf"),
        (("--volumes=[",), "Failed to load flag 'volumes'"),
        (
            ('--effective_capabilities={"capabilities":["FOO"]}',),
            "Failed to load flag 'effective_capabilities': 'capabilities=FOO' is nothing that Mesos knows",
        ),
        (('--rlimits={"rlimit":[]}',), "Failed to load flag 'rlimits': 'rlimit' is nothing that Mesos knows"),
        (("--env=[]",), "Failed to load flag 'env'"),
        (('--env={"A":1}',), "Failed to load flag 'env'"),
        (("--package=x",), "--package is not supported"),
        (("--principal=p", "--secret=s"), "--secret is not supported"),
    ],
)
def test_what_cannot_be_asked_is_told(words: tuple[str, ...], text: str) -> None:
    with pytest.raises(ExecuteError) as caught:
        request_of("--name=a", "--command=true", *words)

    assert str(caught.value).startswith(text)
    assert caught.value.exit_status == 1


def test_a_group_without_tasks_would_never_end_and_is_refused() -> None:
    with pytest.raises(ExecuteError, match="Failed to load flag 'task_group': it has no tasks"):
        request_of('--task_group={"tasks":[]}')


def test_a_task_that_is_no_task_is_told() -> None:
    with pytest.raises(ExecuteError, match="Failed to load flag 'task'"):
        request_of('--task={"name":"x"}')


def test_a_relative_path_is_told_what_a_file_needs() -> None:
    with pytest.raises(ExecuteError, match=r"near: task\.json; a file is named by its whole path: --task=/path/to"):
        request_of("--task=task.json")


def test_a_misspelt_field_is_ignored_but_told() -> None:
    misspelt = TASK.replace('{"value":"true"}', '{"value":"true","uris":[{"value":"a","x":1},{"value":"b","x":2}]}')
    group = f'{{"tasks":[{TASK[:-1]},"comand":{{}}}}]}}'

    assert request_of(f"--task={misspelt}").notes == ("Ignored: 'command.uris.x' is no field that Mesos knows.",)
    assert request_of(f"--task_group={group}").notes == ("Ignored: 'tasks.comand' is no field that Mesos knows.",)
    assert request_of(f"--task={TASK}").notes == ()


@pytest.mark.parametrize(
    ("given", "amounts", "note"),
    [
        (
            "gpus:1",
            {"cpus": 0.1, "mem": 128.0, "gpus": 1.0},
            "has no cpus and mem: cpus:0.1;mem:128 added.",
        ),
        ("gpus:1;cpus:2", {"cpus": 2.0, "mem": 128.0, "gpus": 1.0}, "has no mem: mem:128 added."),
        ("gpus:1;mem(r):64", {"cpus": 0.1, "mem": 64.0, "gpus": 1.0}, "has no cpus: cpus:0.1 added."),
    ],
)
def test_some_cpus_and_memory_are_added_where_there_are_none(given: str, amounts: dict[str, float], note: str) -> None:
    request = request_of(
        "--name=gpu-test", "--command=nvidia-smi", "--framework_capabilities=GPU_RESOURCES", f"--resources={given}"
    )

    assert {each.name: each.scalar.value for each in request.tasks[0].resources} == amounts
    assert request.notes == (f"--resources {note}",)


def test_who_asks_for_gpus_without_the_capability_is_told() -> None:
    plain = ("--name=a", "--command=true", "--resources=cpus:1;mem:64;gpus:1")

    (note,) = request_of(*plain).notes
    assert "--framework_capabilities=GPU_RESOURCES" in note
    assert request_of(*plain, "--framework_capabilities=GPU_RESOURCES").notes == ()


def test_variables_of_the_environment_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESOS_NAME", "from-environment")

    with pytest.raises(UsageError, match="--name"):
        request_of("--command=true")
    with pytest.raises(FlagError, match="'master' is required"):
        load_flags(ExecuteFlags, [], None)
