"""The default executor as the program that an agent starts."""

import subprocess
import sys

PYTHON = (sys.executable, "-I")


def test_without_an_agent_it_says_what_is_missing() -> None:
    done = subprocess.run([*PYTHON, "-m", "tfmesos.executors.default"], env={}, capture_output=True, text=True)

    assert done.returncode == 2
    assert done.stderr == (
        "tfmesos default executor: cannot run as an executor: MESOS_FRAMEWORK_ID: it is not set; "
        "an agent sets it for the executors that it starts\n"
    )


def test_it_starts_without_the_heavy_half_of_the_house() -> None:
    program = "import sys, tfmesos.executors.default.app; print(sorted(sys.modules))"

    loaded = subprocess.run([*PYTHON, "-c", program], capture_output=True, text=True, check=True).stdout

    assert "'aiohttp'" not in loaded
    assert "'tfmesos.master'" not in loaded
