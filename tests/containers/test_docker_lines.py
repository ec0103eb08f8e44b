"""The `docker run` commands of docs/images.md, typed into a shell with a terminal.

What is not as on the page: the names of the master and of the directory, and the programs in it, which train nothing.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.cluster import ISOLATION, ImageCluster, Shelf
from tests.containers.conftest import REPLICA, StartImageCluster
from tests.debian import wants_debians_python
from tests.dockerd import Dockerd
from tests.gpu_machine import StartGpuMachine
from tests.guides import documented_lines

SCRIPT = Path(__file__).parents[2] / "docker" / "offline_image.py"
IN_GRAPH = '''
"""In the place of a training in fine-grained mode: a program that makes its cluster itself."""
import sys
from tfmesos import Job, cluster

gpus = int(sys.argv[2]) if sys.argv[1:2] == ["--worker-gpus"] else 0
names = "[name for name in os.environ.get('CUDA_VISIBLE_DEVICES', '').split(',') if name]"
tells = f"import os; print('a task in', os.environ['MESOS_SANDBOX'], 'with GPUs:', len({names}))"
with cluster([Job("worker", 2, mem=64, gpus=gpus, cmd=["python3", "-c", tells])]) as c:
    c.wait()
print("all is well")
'''


@pytest.fixture(scope="module")
def images(shelf: Shelf, dockerd: Dockerd) -> None:
    """Those of docker/Dockerfile but TensorFlow, in the engine and where agents find them."""
    for name, more in (("tfmesos/tfmesos:latest", []), ("tfmesos/tfmesos:gpu", ["--gpu"])):
        archive = shelf.archives / f"{name}.tar"
        subprocess.run([sys.executable, SCRIPT, f"--tag={name}", "--python=tfmesos", *more, archive], check=True)
        dockerd.run("load", "--input", archive)


def write_programs(folder: Path) -> None:
    """What is in /nfs on the page."""
    (folder / "mnist").mkdir()
    (folder / "mnist" / "mnist_replica.py").write_text(REPLICA)
    for name in ("mnist/mnist.py", "plus.py"):
        (folder / name).write_text(IN_GRAPH)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    write_programs(tmp_path)
    return tmp_path


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A directory that other users get into, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def type_line(name: str, cluster: ImageCluster, programs: Path, engine: Dockerd, user: str = "`id -u`") -> str:
    """What is shown; it ends well."""
    (line,) = documented_lines("images.md", name)
    line = line.replace("`id -u`", user).replace("mesos-master:5050", cluster.address).replace("/nfs/", f"{programs}/")
    status, shown = typed(line, engine)
    assert status == 0, shown
    return shown


@wants_debians_python
@pytest.mark.usefixtures("images")
def test_on_cpus(start_image_cluster: StartImageCluster, dockerd: Dockerd, programs: Path) -> None:
    cluster = start_image_cluster()

    replica = type_line("replica mode, CPU", cluster, programs, dockerd)
    in_graph = type_line("fine-grained mode, CPU", cluster, programs, dockerd)
    plus = type_line("plus", cluster, programs, dockerd)

    assert "[worker:0] root 0 was told 42 in /mnt/mesos/sandbox with GPUs: 0\n" in replica
    for shown in (in_graph, plus):
        assert shown.count("a task in /mnt/mesos/sandbox with GPUs: 0\n") == 2
        assert shown.endswith("all is well\n")
    assert cluster.wait_nothing_left() == []


@wants_debians_python
@pytest.mark.usefixtures("images")
def test_as_another_user(start_image_cluster: StartImageCluster, dockerd: Dockerd, everybodys: Path) -> None:
    # Given a user whom the image does not know
    user = "_apt"
    cluster = start_image_cluster(directory=everybodys)
    write_programs(everybodys)
    # When they run a job
    shown = type_line("replica mode, CPU", cluster, everybodys, dockerd, user=f"`id -u {user}`")
    # Then its tasks are theirs
    assert f"[worker:0] {user} 0 was told 42 in /mnt/mesos/sandbox with GPUs: 0\n" in shown
    assert cluster.wait_nothing_left() == []


@wants_debians_python
@pytest.mark.usefixtures("images")
def test_on_gpus(
    start_image_cluster: StartImageCluster, start_gpu_machine: StartGpuMachine, dockerd: Dockerd, programs: Path
) -> None:
    machine = start_gpu_machine(cards=2)
    cluster = start_image_cluster(f"--isolation={ISOLATION},gpu/nvidia", through=machine.command)

    replica = type_line("replica mode, GPU", cluster, programs, dockerd)
    in_graph = type_line("fine-grained mode, GPU", cluster, programs, dockerd)

    assert "[worker:0] root 0 was told 42 in /mnt/mesos/sandbox with GPUs: 1\n" in replica
    assert in_graph.count("a task in /mnt/mesos/sandbox with GPUs: 1\n") == 2
    assert in_graph.endswith("all is well\n")
    assert cluster.wait_nothing_left() == []


def typed(line: str, engine: Dockerd) -> tuple[int, str]:
    """Into a shell on a terminal: its status, and what was shown."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "DOCKER_HOST": f"unix://{engine.socket}"}
    shell = subprocess.Popen(
        ["sh", "-c", line], stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 60
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        while select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
            try:
                shown += terminal.read(65536)
            except OSError:  # the shell has gone
                break
    return shell.wait(10), shown.decode().replace("\r\n", "\n")
