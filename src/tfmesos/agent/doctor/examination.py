"""Looks at everything, in the order in which a machine is set up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tfmesos.agent.doctor.cards import card_findings
from tfmesos.agent.doctor.containers import container_findings
from tfmesos.agent.doctor.driver import driver_findings
from tfmesos.agent.doctor.finding import Finding, Report
from tfmesos.agent.doctor.flags import DoctorFlags
from tfmesos.agent.doctor.isolation import isolation_findings
from tfmesos.agent.doctor.places import place_findings
from tfmesos.agent.doctor.wants import Wants

_GPUS = "For GPUs, look again with --isolation=cgroups/devices,gpu/nvidia."
_TRY = (
    "To see a task use a GPU: mesos-execute --master={master} --name=gpu-test --command=nvidia-smi "
    "--framework_capabilities=GPU_RESOURCES --resources=gpus:1"
)


async def examine(flags: DoctorFlags, root: Path = Path("/")) -> Report:
    """What of this machine an agent with these flags needs, and what of it is there."""
    wants = Wants.of(flags)
    findings = [*isolation_findings(flags, wants)]
    findings += [finding async for finding in container_findings(flags, wants)]
    findings += card_findings(wants, root)
    findings += [finding async for finding in driver_findings(flags, wants, root)]
    findings += [finding async for finding in place_findings(flags)]
    return Report(findings, _advice(flags, wants, findings))


def _advice(flags: DoctorFlags, wants: Wants, findings: Iterable[Finding]) -> str:
    if not wants.gpus:
        then = _GPUS
    elif any(finding.subject == "offer" and finding.is_there for finding in findings):
        then = _TRY.format(master=flags.master or "MASTER:5050")
    else:
        then = "But such an agent offers no GPUs."
    return f"Nothing is missing that --isolation={flags.isolation} needs. {then}"
