"""The engine of tests runs images of tests, survives kill -9, and leaves nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.cgroup_trees import cgroups_below
from tests.dockerd import Dockerd, StartDockerd
from tests.images import busybox_image, pack
from tests.registry import Registry


def test_runs_what_is_loaded(dockerd: Dockerd) -> None:
    dockerd.load(busybox_image(cmd=["echo", "hello"]), "loaded:1")
    assert dockerd.run("run", "--rm", "loaded:1") == "hello\n"


def test_pulls_from_the_registry(dockerd: Dockerd, registry: Registry) -> None:
    registry.push(pack(busybox_image(cmd=["echo", "pulled"]), "oci-index"), "from/registry:2")
    assert dockerd.run("run", "--rm", f"{registry.host}/from/registry:2") == "pulled\n"


def test_goes_without_a_trace(start_dockerd: StartDockerd) -> None:
    # Given an engine that was killed, started again, and runs a container
    engine = start_dockerd()
    engine.load(busybox_image(cmd=["sh", "-c", "trap exit TERM; sleep 1000 & wait"]), "it:1")
    engine.run("run", "--detach", "it:1")
    engine.kill()
    engine.start()
    engine.run("run", "--detach", "--publish=127.0.0.1:0:80", "it:1")
    assert cgroups_below(engine.cgroup_parent)
    # When it is stopped
    engine.stop()
    # Then there is no process, no cgroup, no mount and no bridge of it
    assert subprocess.run(["pgrep", "--full", str(engine.folder)]).returncode == 1
    assert not cgroups_below(engine.cgroup_parent)
    assert str(engine.folder) not in Path("/proc/self/mountinfo").read_text()
    links = subprocess.run(["ip", "-o", "link"], check=True, capture_output=True, text=True).stdout
    assert engine.cgroup_parent.removeprefix("test-docker-") not in links
