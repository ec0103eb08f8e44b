"""Tests of what this machine's Debian has."""

import os
import sys

import pytest

wants_debians_python = pytest.mark.skipif(
    not os.path.realpath("/usr/bin/python3").endswith(f"/python3.{sys.version_info.minor}"),
    reason="packages of this Python are not for Debian's python3",
)
"""For images with packages of the environment that runs the tests."""
