"""A full disk is told, and survived."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.root
def test_a_container_fails_with_the_reason_and_the_next_one_runs_when_there_is_room(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    program = Path(__file__).with_name("full_disk.py")
    line = f"mount -t tmpfs -o size=2m none {tmp_path} && exec '{sys.executable}' '{program}' {tmp_path}"

    ran = subprocess.run(["unshare", "-m", "sh", "-c", line], capture_output=True, text=True, check=False)

    filling, checkpointing, after = ran.stdout.splitlines()
    assert filling == f"wait status {1 << 8}"
    assert "No space left on device" in checkpointing
    assert after == f"wait status {3 << 8}"
    assert ran.stderr == ""
