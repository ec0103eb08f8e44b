"""`tfrun` alone on a machine, with images, volumes and shared memory, as root."""

import base64
import json
import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.cli.programs import TFRUN, Program, Result, Workplace, wait_until
from tests.dockerd import Dockerd
from tests.images import busybox_image, saved_archive
from tests.registry import Credentials, FakeRegistry, Registry, StartRegistry

pytestmark = pytest.mark.root

IMAGE = "python:3"


@pytest.fixture(scope="module")
def shelf(python_archive: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What finds the images, and keeps them for the next test."""
    saved_archive(python_archive.parent / "bare:1.tar", busybox_image(), "bare:1")
    store = tmp_path_factory.mktemp("images")
    return {"MESOS_DOCKER_REGISTRY": str(python_archive.parent), "MESOS_DOCKER_STORE_DIR": str(store)}


@pytest.fixture(autouse=True)
def _nothing_is_mounted(workplace: Workplace) -> Iterator[None]:
    yield
    assert str(workplace.directory) not in Path("/proc/self/mounts").read_text()


def run(workplace: Workplace, shelf: dict[str, str], *words: str, **more: str) -> Result:
    return workplace.run(*TFRUN, *words, **{**shelf, **more})


def roots(workplace: Workplace) -> list[Path]:
    """The root file systems of containers, of which none is to be left."""
    return list(workplace.state.glob("tfmesos/runs/*/agent/provisioner/containers/*"))


LOOK = """
import json, os
found = {name: os.environ.get(name) for name in ("HOME", "USER", "MESOS_SANDBOX", "TFMESOS_TASK_INDEX", "MINE")}
try:
    open("/data/new", "w")
    written = True
except OSError:
    written = False
print(json.dumps({**found, "cwd": os.getcwd(), "data": open("/data/f").read(), "written": written}))
"""


def test_a_job_in_an_image_with_a_volume_to_read(workplace: Workplace, shelf: dict[str, str]) -> None:
    data = workplace.directory / "data"
    data.mkdir()
    (data / "f").write_text("é 42")

    result = run(
        workplace, shelf, "-V", f"{data}:/data:ro", "--image", IMAGE, "-w", "2", "-s", "1", "--env", "MINE=é",
        "--worker-logs", "1", "--", "python3", "-c", LOOK, LEFT_HERE="x",
    )  # fmt: skip

    assert (result.status, len(result.lines)) == (0, 1), result
    assert json.loads(result.output.removeprefix("[worker:1] ")) == {
        "HOME": "/root",
        "USER": "root",
        "MESOS_SANDBOX": "/mnt/mesos/sandbox",
        "TFMESOS_TASK_INDEX": "1",
        "MINE": "é",
        "cwd": "/mnt/mesos/sandbox",
        "data": "é 42",
        "written": False,
    }
    assert os.listdir(data) == ["f"]
    assert not roots(workplace)


def test_a_job_starts_where_the_user_is_if_a_volume_brings_that_along(
    workplace: Workplace, shelf: dict[str, str]
) -> None:
    (workplace.home / "train.py").write_text("import os; print(os.getcwd()); open('out', 'w').write('done')")

    result = run(workplace, shelf, "-V", f"{workplace.directory}:/work", "--image", IMAGE, "-w1", "python3", "train.py")

    assert (result.status, result.lines) == (0, ["[worker:0] /work/home"]), result
    assert (workplace.home / "out").read_text() == "done"


@pytest.mark.parametrize("image", [IMAGE, None])
def test_shared_memory_has_the_size_that_was_asked_for(
    workplace: Workplace, shelf: dict[str, str], image: str | None
) -> None:
    code = "import os; found = os.statvfs('/dev/shm'); print(found.f_blocks * found.f_frsize // 2**20)"
    where = ["--image", image] if image else []

    result = run(workplace, shelf, *where, "--shm", "33m", "-w", "1", "--", "python3", "-c", code)

    assert (result.status, result.lines) == (0, ["[worker:0] 33"]), result


def test_volumes_without_an_image_are_seen_by_the_tasks_alone(workplace: Workplace, shelf: dict[str, str]) -> None:
    target = workplace.directory / "target"
    target.mkdir()
    (workplace.home / "f").write_text("here")

    result = run(workplace, shelf, "-V", f"{workplace.home}:{target}:ro", "-w", "2", "--", "cat", f"{target}/f")

    assert (result.status, sorted(result.lines)) == (0, ["[worker:0] here", "[worker:1] here"]), result
    assert not list(target.iterdir())


@pytest.mark.parametrize("kind", ["MESOS", "DOCKER"])
def test_an_image_without_python3_is_told(
    workplace: Workplace, shelf: dict[str, str], dockerd: Dockerd, kind: str
) -> None:
    dockerd.load(busybox_image(), "bare:1")
    settings = {**shelf, "MESOS_DOCKER_SOCKET": str(dockerd.socket)}

    result = run(workplace, settings, "-C", kind, "--image", "bare:1", "-w", "1", "--", "true")

    assert result.status not in (0, 2)
    assert "the image 'bare:1' has no python3, which TFMesos needs to start a task" in result.errors
    assert "Traceback" not in result.errors


def test_an_image_that_is_not_there_is_told_after_a_bounded_number_of_tries(
    workplace: Workplace, shelf: dict[str, str]
) -> None:
    result = run(workplace, shelf, "--image", "no/such:1", "-w", "2", "-s", "1", "--", "true")

    assert result.status == 1
    assert result.errors.count("placing all tasks anew") <= 2
    last = result.errors[result.errors.rindex(" failed on agent ") :]
    assert "TASK_FAILED (REASON_CONTAINER_LAUNCH_FAILED, SOURCE_AGENT): " in last
    assert f"{shelf['MESOS_DOCKER_REGISTRY']}/no/such:1.tar" in last
    assert "2 other tasks were stopped by us" in last
    assert not roots(workplace)


def test_a_wrong_password_is_told_without_it(workplace: Workplace, locked: Registry) -> None:
    login = json.dumps({"auths": {locked.host: {"auth": base64.b64encode(b"ann:hunter2").decode()}}})
    store = str(workplace.directory / "store")

    result = workplace.run(
        *TFRUN, "--image", f"{locked.host}/any/thing:1", "-w", "1", "--", "true",
        MESOS_DOCKER_CONFIG=login, MESOS_DOCKER_STORE_DIR=store,
    )  # fmt: skip

    assert result.status == 1
    assert f"Failed to pull image '{locked.host}/any/thing:1' from" in result.errors
    assert "hunter2" not in result.errors + result.output
    assert "hunter2" not in "".join(log.read_text() for log in workplace.state.rglob("cluster.log"))


@pytest.fixture
def slow(fake_registry: FakeRegistry) -> Iterator[FakeRegistry]:
    """A registry that has the image, and gives no layer of it before it is let."""
    fake_registry.put(busybox_image(), "slow:1")
    fake_registry.gate.clear()
    yield fake_registry
    fake_registry.gate.set()


def pulling(workplace: Workplace, registry: FakeRegistry) -> AbstractContextManager[Program]:
    store = str(workplace.directory / "store")
    words = ["--image", f"{registry.host}/slow:1", "-w", "2", "--", "true"]
    return workplace.started(*TFRUN, *words, MESOS_DOCKER_STORE_DIR=store)


def test_ctrl_c_while_an_image_is_pulled(workplace: Workplace, slow: FakeRegistry) -> None:
    with pulling(workplace, slow) as program:
        wait_until(lambda: slow.asked, "the image is asked for")
        program.signal(signal.SIGINT)
        result = program.wait(15)

    assert (result.status, "Traceback" in result.errors) == (130, False), result.errors
    wait_until(lambda: not list((workplace.directory / "store" / "staging").iterdir()), "no half image is left", 10)


@pytest.mark.parametrize(
    ("words", "settings", "text"),
    [
        (["--image", "No Image"], {}, "Failed to parse docker image 'No Image': "),
        (["--image", IMAGE], {"MESOS_OCI_RUNTIME": "/no/runc"}, f"image '{IMAGE}' cannot be used on this machine: "),
        (["-V", "/etc:/x"], {"MESOS_OCI_RUNTIME": "/no/runc"}, "nothing can be mounted for tasks on this machine: "),
        (["--image", IMAGE], {"MESOS_DOCKER_REGISTRY": "ftp://x"}, f"image '{IMAGE}' cannot be used on this machine: "),
        (["-C", "DOCKER", "--image", IMAGE], {"MESOS_DOCKER_SOCKET": "/no/socket"}, "by MESOS_DOCKER_SOCKET)"),
        (
            ["-C", "DOCKER", "--image", IMAGE],
            {"MESOS_DOCKER": "/no/docker"},
            "engine cannot be used: cannot run /no",
        ),
    ],
)
def test_what_cannot_be_served_is_told_in_one_line(
    workplace: Workplace, shelf: dict[str, str], words: list[str], settings: dict[str, str], text: str
) -> None:
    result = run(workplace, shelf, *words, "-w", "1", "--", "true", **settings)

    assert (result.status, result.output) == (2, ""), result
    assert len(result.errors.splitlines()) == 1, result.errors
    assert text in result.errors


def test_the_docker_engine_runs_images_too(workplace: Workplace, dockerd: Dockerd, python_archive: Path) -> None:
    dockerd.run("load", "--input", python_archive)
    (workplace.home / "f").write_text("here")
    code = "import os; print(open('f').read(), os.getcwd(), os.environ['USER'], os.statvfs('/dev/shm').f_blocks // 256)"

    result = workplace.run(
        *TFRUN, "-C", "DOCKER", "--image", IMAGE, "-V", f"{workplace.home}:/work:ro", "-w", "1", "-Mw", "99", "--",
        "python3", "-c", code, MESOS_DOCKER_SOCKET=str(dockerd.socket),
    )  # fmt: skip

    assert (result.status, result.lines) == (0, ["[worker:0] here /work root 99"]), result


@pytest.mark.parametrize("victim", ["tfmesos.cli.tfrun", "tfmesos.local"])
@pytest.mark.parametrize("kind", ["MESOS", "DOCKER"])
def test_nothing_is_left_when_the_launcher_or_its_cluster_is_killed(
    workplace: Workplace, shelf: dict[str, str], dockerd: Dockerd, python_archive: Path, kind: str, victim: str
) -> None:
    dockerd.run("load", "--input", python_archive)
    settings = {**shelf, "MESOS_DOCKER_SOCKET": str(dockerd.socket)}
    others = set(dockerd.containers())
    code = "import time; print('running', flush=True); time.sleep(999)"

    with workplace.started(*TFRUN, "-C", kind, "--image", IMAGE, "-w2", "python3", "-c", code, **settings) as program:
        program.wait_output("running")
        count = 2 if kind == "DOCKER" else 0
        wait_until(lambda: len(set(dockerd.containers()) - others) == count, "the other task's container is there, too")
        began = set(dockerd.containers()) - others
        (pid,) = workplace.find(f"-m {victim}")
        os.kill(pid, signal.SIGKILL)
        assert program.wait().status == (1 if victim == "tfmesos.local" else -signal.SIGKILL)

    workplace.wait_empty(30)
    assert not roots(workplace)
    wait_until(lambda: not set(dockerd.containers()) & began, "no container of the engine is left", 20)


@pytest.fixture
def locked(start_registry: StartRegistry) -> Registry:
    """A registry that wants a password."""
    return start_registry(credentials=Credentials())
