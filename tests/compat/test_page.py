"""docs/compat.md is what the table of differences prints."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date() -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "print_compat.py")], capture_output=True, text=True, check=True
    )
    page = ROOT / "docs" / "compat.md"
    assert page.read_text() == ran.stdout, "run: python scripts/print_compat.py > docs/compat.md"
