"""What `docker run` is told, in Mesos' order and with Mesos' refusals."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tfmesos.agent.containerizer import ContainerConfig, ContainerId, ContainerKind
from tfmesos.agent.docker.arguments import run_arguments
from tfmesos.agent.docker.dns import parse_default_dns
from tfmesos.agent.docker.errors import DockerError
from tfmesos.agent.docker.options import Surroundings, run_options
from tfmesos.flags import FlagError
from tfmesos.resources import Resources
from tfmesos.wire import mesos_pb2
from tfmesos.wire.json_codec import message_from_json

AROUND = Surroundings(sandbox="/work/run")


def config(command: dict[str, Any], container: dict[str, Any], resources: str = "cpus:1;mem:64") -> ContainerConfig:
    container = {"type": "DOCKER", **container, "docker": {"image": "tiny", **container.get("docker", {})}}
    return ContainerConfig(
        id=ContainerId("c1"),
        kind=ContainerKind.COMMAND_TASK,
        command=message_from_json(mesos_pb2.CommandInfo, json.dumps(command)),
        directory="/work/run",
        container=message_from_json(mesos_pb2.ContainerInfo, json.dumps(container)),
        resources=tuple(Resources.parse(resources).to_proto()),
    )


def arguments(
    command: dict[str, Any], container: dict[str, Any], resources: str = "cpus:1;mem:64", around: Surroundings = AROUND
) -> list[str]:
    return list(run_arguments(run_options(config(command, container, resources), around)))


def values(argv: list[str], name: str) -> list[str]:
    return [argv[index + 1] for index, part in enumerate(argv) if part == name]


def test_the_order_is_that_of_mesos() -> None:
    """spec/flags.md §7.2."""
    dns = parse_default_dns(
        '{"docker":[{"network_mode":"BRIDGE","dns":{"nameservers":["10.0.0.1"],"search":["lan"],"options":["ndots:2"]}}]}'
    )
    around = dataclasses.replace(AROUND, environment={"CUDA": "1"}, is_cpu_capped=True, default_dns=dns)
    command = {"value": "echo $A", "environment": {"variables": [{"name": "A", "value": "b c"}]}}
    container = {
        "hostname": "here",
        "volumes": [
            {"mode": "RO", "host_path": "/etc", "container_path": "etc"},
            {"mode": "RW", "host_path": "data", "container_path": "/data"},
            {
                "mode": "RW",
                "container_path": "/v",
                "source": {"type": "DOCKER_VOLUME", "docker_volume": {"driver": "local", "name": "vol"}},
            },
        ],
        "docker": {
            "image": "tiny:1",
            "privileged": True,
            "network": "BRIDGE",
            "port_mappings": [
                {"host_port": 31000, "container_port": 80, "protocol": "TCP"},
                {"host_port": 31001, "container_port": 53},
            ],
            "parameters": [{"key": "ulimit", "value": "nofile=100"}, {"key": "cap-drop", "value": "ALL"}],
        },
    }

    argv = arguments(command, container, "cpus:1.5;mem:64;ports:[31000-31001]", around)

    assert argv == [
        "run", "--privileged",
        "--cpu-shares", "1536", "--cpu-quota", "150000", "--memory", "67108864",
        "-e", "A=b c", "-e", "CUDA=1", "-e", "MESOS_CONTAINER_NAME=mesos-c1", "-e", "MESOS_SANDBOX=/mnt/mesos/sandbox",
        "-v", "/etc:/mnt/mesos/sandbox/etc:ro", "-v", "/work/run/data:/data:rw", "-v", "vol:/v:rw",
        "-v", "/work/run:/mnt/mesos/sandbox",
        "--volume-driver=local",
        "--net", "bridge",
        "--dns", "10.0.0.1", "--dns-search", "lan", "--dns-opt", "ndots:2",
        "--hostname", "here",
        "-p", "31000:80/tcp", "-p", "31001:53",
        "--entrypoint", "/bin/sh",
        "--name", "mesos-c1",
        "--ulimit=nofile=100", "--cap-drop=ALL",
        "tiny:1", "-c", "echo $A",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "after_image"),
    [
        ({"shell": False}, []),
        ({"shell": False, "arguments": ["a", "b"]}, ["a", "b"]),
        ({"shell": False, "value": "/bin/x", "arguments": ["a"]}, ["/bin/x", "a"]),
        ({"value": ""}, ["-c", ""]),
    ],
)
def test_arguments_are_those_of_the_image(command: dict[str, Any], after_image: list[str]) -> None:
    argv = arguments(command, {})

    assert argv[argv.index("tiny") + 1 :] == after_image
    assert ("--entrypoint" in argv) is ("value" in command and "shell" not in command)


@pytest.mark.parametrize(
    ("network", "infos", "expected"),
    [
        (None, [], "host"),
        ("HOST", [], "host"),
        ("BRIDGE", [], "bridge"),
        ("NONE", [], "none"),
        ("USER", [{"name": "mine"}], "mine"),
    ],
)
def test_networks(network: str | None, infos: list[dict[str, str]], expected: str) -> None:
    docker = {} if network is None else {"network": network}

    assert values(arguments({"value": "x"}, {"docker": docker, "network_infos": infos}), "--net") == [expected]


def test_the_role_of_the_first_resource_is_told() -> None:
    told = config({"value": "x"}, {})
    resource = mesos_pb2.Resource(name="cpus", type=mesos_pb2.Value.SCALAR)
    resource.scalar.value = 1
    resource.allocation_info.role = "dev"

    options = run_options(dataclasses.replace(told, resources=(resource,)), AROUND)

    assert options.environment["MESOS_ALLOCATION_ROLE"] == "dev"


def test_small_amounts_have_the_least_that_is_possible() -> None:
    argv = arguments({"value": "x"}, {}, "cpus:0.001;mem:1", dataclasses.replace(AROUND, is_cpu_capped=True))

    assert values(argv, "--cpu-shares") == ["2"]
    assert values(argv, "--cpu-quota") == ["1000"]
    assert values(argv, "--memory") == [str(32 * 1024 * 1024)]


def test_what_the_task_says_of_name_servers_goes() -> None:
    dns = parse_default_dns('{"docker":[{"network_mode":"BRIDGE","dns":{"nameservers":["10.0.0.1"]}}]}')
    docker = {"network": "BRIDGE", "parameters": [{"key": "dns", "value": "1.1.1.1"}]}

    argv = arguments({"value": "x"}, {"docker": docker}, around=dataclasses.replace(AROUND, default_dns=dns))

    assert "--dns" not in argv
    assert "--dns=1.1.1.1" in argv


@pytest.mark.parametrize(
    ("network", "infos", "expected"),
    [("HOST", [], []), ("USER", [{"name": "a"}], ["2.2.2.2"]), ("USER", [{"name": "b"}], ["3.3.3.3"])],
)
def test_name_servers_go_by_the_network(network: str, infos: list[dict[str, str]], expected: list[str]) -> None:
    dns = parse_default_dns(
        '{"docker":[{"network_mode":"USER","network_name":"a","dns":{"nameservers":["2.2.2.2"]}},'
        '{"network_mode":"USER","dns":{"nameservers":["3.3.3.3"]}}]}'
    )
    container = {"docker": {"network": network}, "network_infos": infos}

    argv = arguments({"value": "x"}, container, around=dataclasses.replace(AROUND, default_dns=dns))

    assert values(argv, "--dns") == expected


def test_a_secret_is_not_in_the_command_line() -> None:
    data = "c2VjcmV0"  # base64 of "secret"
    variable = {"name": "TOKEN", "type": "SECRET", "secret": {"type": "VALUE", "value": {"data": data}}}
    command = {"value": "x", "environment": {"variables": [variable]}}

    options = run_options(config(command, {}), AROUND)

    assert options.secrets == {"TOKEN": "secret"}
    assert "TOKEN" in values(list(run_arguments(options)), "-e")
    assert not any("secret" in part for part in run_arguments(options))


SECRET_REFERENCE = {"name": "T", "type": "SECRET", "secret": {"type": "REFERENCE", "reference": {"name": "n"}}}
SECRET_PRELOAD = {"name": "LD_PRELOAD", "type": "SECRET", "secret": {"type": "VALUE", "value": {"data": "eA=="}}}
BRIDGE = {"network": "BRIDGE"}
UNSERVED: tuple[dict[str, Any], ...] = (
    {"tty_info": {}},
    {"rlimit_info": {"rlimits": [{"type": "RLMT_NOFILE"}]}},
    {"linux_info": {"effective_capabilities": {"capabilities": []}}},
)


@pytest.mark.parametrize(
    ("command", "container", "text"),
    [
        ({}, {}, "Shell specified but no command value provided"),
        ({"value": "x"}, {"docker": {"network": "USER"}}, "No network info found in container info"),
        (
            {"value": "x"},
            {"docker": {"network": "USER"}, "network_infos": [{"name": "a"}, {"name": "b"}]},
            "Only a single network can be defined in Docker run",
        ),
        (
            {"value": "x"},
            {"docker": {"network": "USER"}, "network_infos": [{}]},
            "No network name found in network info",
        ),
        *(
            ({"value": "x"}, container, "is not supported in Docker containers; parameters of docker run are")
            for container in UNSERVED
        ),
        ({"value": "x"}, {"hostname": "h"}, "Unable to set hostname with host network mode"),
        (
            {"value": "x"},
            {"docker": {"port_mappings": [{"host_port": 1, "container_port": 1}]}},
            "Port mappings are only supported for bridge and user-defined networks",
        ),
        (
            {"value": "x"},
            {"docker": {**BRIDGE, "port_mappings": [{"host_port": 30999, "container_port": 1}]}},
            r"Port \[30999\] not included in resources",
        ),
        (
            {"value": "x"},
            {"volumes": [{"mode": "RW", "host_path": "a", "container_path": "b"}]},
            "Both host_path 'a' and container_path 'b' are relative",
        ),
        (
            {"value": "x"},
            {"volumes": [{"mode": "RW", "container_path": "/b"}]},
            "Host path or volume source is required",
        ),
        (
            {"value": "x"},
            {
                "volumes": [
                    {
                        "mode": "RW",
                        "container_path": f"/{driver}",
                        "source": {"type": "DOCKER_VOLUME", "docker_volume": {"driver": driver, "name": "v"}},
                    }
                    for driver in ("a", "b")
                ]
            },
            "Only one volume driver is supported",
        ),
        (
            {"value": "x"},
            {
                "volumes": [
                    {
                        "mode": "RW",
                        "container_path": "/p",
                        "source": {"type": "SANDBOX_PATH", "sandbox_path": {"type": "SELF", "path": "p"}},
                    }
                ]
            },
            "a volume of SANDBOX_PATH at /p is not supported in Docker containers",
        ),
        (
            {"value": "x"},
            {"docker": {"parameters": [{"key": "name", "value": "n"}]}},
            "the parameter name=n is not allowed: the agent names its containers",
        ),
        (
            {"value": "x"},
            {"docker": {"parameters": [{"key": "gpus", "value": "all"}]}},
            "the parameter gpus=all is not allowed: .* ask for them by the resource gpus",
        ),
        *(
            (
                {"value": "x"},
                {"docker": {"parameters": [{"key": key, "value": value}]}},
                f"the parameter {key}={value} is not allowed: .* by the resource gpus",
            )
            for key, value in (
                ("device", "/dev/nvidia0"),
                ("runtime", "nvidia"),
                ("env", "NVIDIA_VISIBLE_DEVICES=all"),
            )
        ),
        ({"value": "x"}, {"docker": {"image": "--privileged"}}, "'--privileged' is no name of an image"),
        ({"value": "x"}, {"docker": {"image": "a\0b"}}, "is no name of an image"),
        ({"value": "x", "environment": {"variables": [SECRET_REFERENCE]}}, {}, "the secret is a reference to .n."),
        (
            {"value": "x", "environment": {"variables": [SECRET_PRELOAD]}},
            {},
            "LD_PRELOAD would change",
        ),
    ],
)
def test_what_cannot_be_is_refused(command: dict[str, Any], container: dict[str, Any], text: str) -> None:
    around = dataclasses.replace(AROUND, manages_gpus=True)

    with pytest.raises(DockerError, match=text):
        arguments(command, container, "cpus:1;mem:64;ports:[31000-31001]", around)


def test_port_mappings_want_ports() -> None:
    docker = {**BRIDGE, "port_mappings": [{"host_port": 31000, "container_port": 1}]}

    with pytest.raises(DockerError, match="Port mappings require port resources"):
        arguments({"value": "x"}, {"docker": docker})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not a JSON object"),
        ('{"mesos":[{}]}', "network/cni"),
        ('{"docker":[{"network_mode":"HOST","dns":{}}]}', "network_mode 'HOST'"),
        ('{"docker":[{"network_mode":"BRIDGE","dns":{"nameservers":[1]}}]}', "nameservers"),
        ('{"docker":[{"network_mode":"BRIDGE","dns":{}},{"network_mode":"BRIDGE","dns":{}}]}', "several entries"),
    ],
)
def test_name_servers_that_make_no_sense_are_refused(text: str, message: str) -> None:
    with pytest.raises(FlagError, match=message):
        parse_default_dns(text)
