"""The systemd units are valid, start programs that exist with settings that these know, and keep tasks alive."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tfmesos.agent import AgentGone

ROOT = Path(__file__).parents[2]
DIRECTORY = ROOT / "contrib" / "systemd"
BIN = Path(sys.executable).parent
PROGRAMS = ("mesos-master", "mesos-agent")
INHERITED = re.compile(r"(Protect|Private|Restrict|SystemCall|NoNew|Lock|Capability|Nice|OOMScore|ReadOnly|MemoryDeny)")
"""What would change the world that a task sees."""


def read_unit(program: str) -> dict[str, list[str]]:
    """All settings of a unit, in any section."""
    settings: dict[str, list[str]] = {}
    for line in (DIRECTORY / f"{program}.service").read_text().splitlines():
        name, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            settings.setdefault(name, []).append(value)
    return settings


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_understands_it(program: str, tmp_path: Path) -> None:
    unit = tmp_path / f"{program}.service"
    unit.write_text((DIRECTORY / unit.name).read_text().replace("/opt/tfmesos/bin", str(BIN).replace(" ", r"\x20")))

    result = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)

    assert [line for line in result.stderr.splitlines() if unit.name in line] == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_its_settings_are_flags_of_the_program(program: str) -> None:
    usage = subprocess.run([BIN / program, "--help"], capture_output=True, text=True, check=True).stdout
    known = {f"MESOS_{name.upper()}" for name in re.findall(r"--(?:\[no-\])?([a-z_]+)", usage)}

    units = [value.partition("=")[0] for value in read_unit(program)["Environment"]]
    files = re.findall(r"^#?(MESOS_[A-Z_]+)=", (DIRECTORY / f"{program}.env").read_text(), re.MULTILINE)

    assert "MESOS_WORK_DIR" in units
    assert {*units, *files} <= known


def test_tasks_outlive_the_agent_and_find_the_machine_as_it_is() -> None:
    agent = read_unit("mesos-agent")

    assert agent["KillMode"] == ["process"]
    assert agent["Delegate"] == ["yes"]
    assert agent["OOMPolicy"] == ["continue"]
    assert agent["RuntimeDirectoryPreserve"] == ["yes"]
    assert [name for name in agent if INHERITED.match(name)] == []


def test_an_agent_that_is_gone_is_not_restarted() -> None:
    agent = read_unit("mesos-agent")

    assert agent["Restart"] == ["on-failure"]
    assert agent["RestartPreventExitStatus"] == [str(AgentGone().exit_status)]


def test_the_master_has_no_rights() -> None:
    master = read_unit("mesos-master")

    assert master["DynamicUser"] == ["yes"]
    assert master["CapabilityBoundingSet"] == [""]
    assert master["ProtectSystem"] == ["strict"]
