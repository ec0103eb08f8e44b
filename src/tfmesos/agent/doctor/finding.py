"""What was found, and how it is told. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_STATUS_WIDTH = 9
_SUBJECT_WIDTH = 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked for. `remedy`: how to get it, of what is not there."""

    subject: str
    text: str
    is_there: bool = True
    remedy: str = ""
    is_needed: bool = False
    """The flags are of no use without it."""

    @property
    def is_missing(self) -> bool:
        """It is not there, and needed."""
        return self.is_needed and not self.is_there

    def line(self) -> str:
        """As it is printed."""
        status = "ok" if self.is_there else "missing" if self.is_needed else "absent"
        text = f"{self.text}; {self.remedy}" if self.remedy and not self.is_there else self.text
        return f"{status:{_STATUS_WIDTH}}{self.subject:{_SUBJECT_WIDTH}} {' '.join(text.split())}\n"


@dataclass(frozen=True, slots=True)
class Report:
    """All findings, and what to do next."""

    findings: Sequence[Finding]
    advice: str

    @property
    def is_fit(self) -> bool:
        """Nothing is missing that is needed."""
        return not any(finding.is_missing for finding in self.findings)

    def text(self) -> str:
        """One line for each, and a last one."""
        lines = [finding.line() for finding in self.findings]
        missing = sum(finding.is_missing for finding in self.findings)
        verdict = f"{missing} missing (what is only absent is not needed by these flags)." if missing else self.advice
        return "".join(lines) + f"\n{verdict}\n"
