"""Everything that mesos-execute can say of a container, on an agent that has it all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.containers.cluster import ISOLATION, Executed, ImageCluster, Shelf
from tests.containers.conftest import StartImageCluster
from tests.dockerd import Dockerd
from tests.images import busybox_image, saved_v1_archive

WITH_ALL = f"--isolation={ISOLATION},linux/capabilities,posix/rlimits,namespaces/pid,namespaces/ipc"


@pytest.fixture
def cluster(start_image_cluster: StartImageCluster) -> ImageCluster:
    return start_image_cluster(WITH_ALL)


def assert_finished(result: Executed, end: str = "Command exited with status 0") -> None:
    assert result.status == 0, result.text
    assert f"  message: '{end}'" in result.text


def test_an_image_with_volumes_and_variables(cluster: ImageCluster, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("here")
    volumes = [
        {"host_path": str(tmp_path), "container_path": "/in", "mode": "RO"},
        {"host_path": str(tmp_path), "container_path": "out", "mode": "RW"},
    ]

    result = cluster.execute(
        "cat /in/f; touch /in/x || touch out/y; pwd; echo $A; cat /etc/os-release",
        "--docker_image=tiny:1",
        f"--volumes={json.dumps(volumes)}",
        '--env={"A":"é"}',
    )

    assert_finished(result)
    assert cluster.outputs() == ['here/mnt/mesos/sandbox\né\nID=tests\nNAME="tests"\n']
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "y"]
    assert cluster.wait_nothing_left() == []


@pytest.mark.parametrize("image", [("--docker_image=tiny:1",), ()], ids=["image", "host"])
def test_capabilities_and_limits(cluster: ImageCluster, image: tuple[str, ...]) -> None:
    result = cluster.execute(
        "grep CapEff /proc/self/status; ulimit -n",
        *image,
        '--effective_capabilities={"capabilities":["NET_RAW"]}',
        '--rlimits={"rlimits":[{"type":"RLMT_NOFILE","soft":77,"hard":99}]}',
    )

    assert_finished(result)
    assert cluster.outputs() == [f"CapEff:\t{1 << 13:016x}\n77\n"]


def test_what_the_image_says_is_run_where_no_command_is_given(cluster: ImageCluster, shelf: Shelf) -> None:
    image = busybox_image(entrypoint=["echo", "from"], cmd=["the image"])
    saved_v1_archive(shelf.archives / "speaks:1.tar", image, "speaks:1")

    result = cluster.say("--name=test", "--shell=false", "--docker_image=speaks:1", "--resources=cpus:0.1;mem:64")

    assert_finished(result)
    assert cluster.outputs() == ["from the image\n"]


def test_a_terminal_in_an_image(cluster: ImageCluster) -> None:
    result = cluster.execute("test -t 0 && test -t 1 && echo a terminal", "--docker_image=tiny:1", "--tty")

    assert_finished(result)
    assert cluster.outputs() == ["a terminal\n"]


def test_a_task_and_a_group_in_the_words_of_mesos(cluster: ImageCluster) -> None:
    def task(name: str, command: str) -> dict[str, object]:
        resources = [{"name": n, "type": "SCALAR", "scalar": {"value": v}} for n, v in (("cpus", 0.1), ("mem", 32))]
        container = {"type": "MESOS", "mesos": {"image": {"type": "DOCKER", "docker": {"name": "tiny:1"}}}}
        identity = {"name": name, "task_id": {"value": name}, "agent_id": {"value": ""}}
        return {**identity, "resources": resources, "command": {"value": command}, "container": container}

    group = json.dumps({"tasks": [task("a", "busybox | head -1"), task("b", "true")]})
    for words in (f"--task={json.dumps(task('one', 'busybox | head -1'))}", f"--task_group={group}"):
        result = cluster.say(words)
        assert result.status == 0, result.text

    assert re.match("BusyBox v", cluster.outputs()[0])
    assert cluster.wait_nothing_left() == []


def test_an_image_that_cannot_be_pulled(cluster: ImageCluster) -> None:
    result = cluster.execute("true", "--docker_image=no/such:1")

    assert result.status == 1
    assert "Received status update TASK_FAILED for task 'test'" in result.text
    assert "  reason: REASON_CONTAINER_LAUNCH_FAILED" in result.text
    assert "  source: SOURCE_AGENT" in result.text
    assert "/no/such:1.tar" in result.text
    assert cluster.wait_nothing_left() == []


def test_the_docker_containerizer(start_image_cluster: StartImageCluster, dockerd: Dockerd) -> None:
    dockerd.load(busybox_image(), "mesos-execute:1")
    cluster = start_image_cluster(engine=dockerd)

    good = cluster.execute("pwd; echo $MESOS_SANDBOX", "--containerizer=docker", "--docker_image=mesos-execute:1")
    bad = cluster.execute("exit 3", "--containerizer=docker", "--docker_image=mesos-execute:1", name="bad")

    assert_finished(good, "Container exited with status 0")
    assert "/mnt/mesos/sandbox\n" in cluster.outputs()[0]
    assert (bad.status, "  message: 'Container exited with status 3'" in bad.text) == (1, True)
    assert cluster.wait_nothing_left() == []
