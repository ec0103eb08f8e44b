"""The documentation tells the truth: its links lead somewhere, its commands exist, its flags are the programs' own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("bench/*.md")])
PROGRAMS = ("tfrun", "mesos-master", "mesos-agent", "mesos-execute")


def commands_in(text: str) -> list[list[str]]:
    """The words of every command of ours on a page: indented lines and code in tables, continued lines joined."""
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    found = [line.strip() for line in lines if line.startswith("    ")]
    found += re.findall(r"`([^`]+)`", text)
    words = [re.sub(r"^[A-Z_]+=\S+ ", "", command).split() for command in found]
    return [command for command in words if command and command[0] in {*PROGRAMS, "make", "python"}]


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_relative_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())

    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]

    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_commands_on_the_pages_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    for command in commands_in(page.read_text()):
        if command[0] == "make":
            assert command[1] in targets, command
        elif command[0] == "python":
            assert (ROOT / command[1]).exists() or command[1].startswith("-"), command
        else:
            assert shutil.which(command[0], path=str(BIN)), command


@pytest.mark.parametrize("program", PROGRAMS)
def test_options_on_the_pages_are_known_to_the_programs(program: str) -> None:
    usage = subprocess.run([BIN / program, "--help"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"--(?:\[no-\])?([a-zA-Z_-]+)", usage)) | {"help", "version"}

    for page in PAGES:
        for command in commands_in(page.read_text()):
            if command[0] == program:
                own = command[1 : command.index("--")] if "--" in command else command[1:]
                options = [word.strip("[]").split("=")[0][2:] for word in own if word.strip("[").startswith("--")]
                unknown = [name for name in options if name not in known and name.removeprefix("no-") not in known]
                assert unknown == [], f"{page.name}: {' '.join(command)}"


def test_the_page_of_flags_is_current() -> None:
    printed = subprocess.run(
        [sys.executable, ROOT / "scripts/print_flags.py"], capture_output=True, text=True, check=True
    ).stdout

    assert printed == (ROOT / "docs/flags.md").read_text(), "run scripts/print_flags.py > docs/flags.md"


def test_the_readme_begins_with_the_two_commands() -> None:
    first = [command for command in commands_in((ROOT / "README.md").read_text()) if command[0] != "python"][:2]

    assert [command[:2] for command in first] == [["make", "demo"], ["make", "test"]]


def test_the_page_of_the_architecture_names_every_folder() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    source = ROOT / "src/tfmesos"

    folders = [str(path.parent.relative_to(source)) for path in sorted(source.glob("*/**/__init__.py"))]

    assert [folder for folder in folders if f"| `{folder}` |" not in page] == []


def test_the_page_of_the_measures_names_every_script() -> None:
    page = (ROOT / "bench/README.md").read_text()

    assert [path.name for path in sorted(ROOT.glob("bench/*.py")) if f"`{path.name}`" not in page] == []


def test_the_change_log_names_this_version() -> None:
    from tfmesos.version import __version__

    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
