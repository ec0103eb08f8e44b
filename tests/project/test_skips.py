"""In continuous integration a skip is an error; elsewhere it stays a skip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[1] / "conftest.py"
SKIPPING = """
import pytest

def test_that_skips():
    pytest.skip("no such tool here")
"""
NOT_COLLECTED = "import pytest\npytest.importorskip('a_module_that_is_nowhere')\n"


def run_pytest(directory: Path, skips_are_errors: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(SHARED, directory / "conftest.py")
    environment = {**os.environ, "TFMESOS_SKIPS_ARE_ERRORS": skips_are_errors}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "-c", os.devnull, "."]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("source", [SKIPPING, NOT_COLLECTED], ids=["a test", "a whole file"])
def test_a_skip_is_an_error_where_none_is_allowed(tmp_path: Path, source: str) -> None:
    (tmp_path / "test_it.py").write_text(source)

    done = run_pytest(tmp_path, "1")

    assert done.returncode != 0
    assert "skipped where no skip is allowed" in done.stdout


def test_elsewhere_a_skip_stays_a_skip(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SKIPPING)

    done = run_pytest(tmp_path, "")

    assert done.returncode == 0
    assert "1 skipped" in done.stdout
