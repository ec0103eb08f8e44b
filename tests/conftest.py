"""What every test shares: in continuous integration a skip is an error.

Elsewhere a test whose package, tool or privilege is missing skips with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

SKIPS_ARE_ERRORS = os.environ.get("TFMESOS_SKIPS_ARE_ERRORS") == "1"


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if SKIPS_ARE_ERRORS and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped where no skip is allowed: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report
