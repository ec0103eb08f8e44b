"""Puts the parts around the core together, and those around the containers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from google.protobuf.message import Message

from tfmesos.agent.containerizer import Containerizer, ContainerRuntime, Parts, Roots, RuntimeName
from tfmesos.agent.containerizer.runtime_dir import RuntimeDir
from tfmesos.agent.core import AgentCore, CoreSettings
from tfmesos.agent.executor_api.streams import ExecutorStreams
from tfmesos.agent.flags import AgentFlags
from tfmesos.agent.gpu import GpuIsolator, GpuSupply, gpu_isolators
from tfmesos.agent.isolators import IsolatorNames, build_isolation, wanted_isolators
from tfmesos.agent.membership.identity import Identity
from tfmesos.agent.runner.container_runs import ContainerRuns
from tfmesos.agent.runner.environment import Environments
from tfmesos.agent.runner.reporter import Recorder, Reporter
from tfmesos.agent.runner.runner import Runner
from tfmesos.agent.runner.task_watches import TaskWatches
from tfmesos.agent.sandboxes.work_dir import WorkDir
from tfmesos.metrics import Metrics
from tfmesos.supervision import Supervisors, raise_descriptor_limit
from tfmesos.transport import Address, UnixAddress


async def build_containerizer(flags: AgentFlags, metrics: Metrics, gpus: GpuSupply | None = None) -> Containerizer:
    """One whose containers are kept apart as the flags say; without `gpus` they have none.

    Raises BadAgentFlags for what this machine lacks.
    """
    names = wanted_isolators(flags)
    isolators: Sequence[GpuIsolator] = ()
    if gpus is not None:
        directories = RuntimeDir(flags.runtime_path)
        isolators = await gpu_isolators(names, gpus, directories.path_of, flags)
    for isolator in isolators:
        metrics.add_gauges(isolator.numbers)
    max_descriptors = raise_descriptor_limit()
    supervisors = Supervisors(max_descriptors=max_descriptors)
    roots = _roots(flags, supervisors)
    if roots.images is not None and roots.provisioner is not None:
        metrics.add_gauges(roots.images.numbers)
        metrics.add_gauges(roots.provisioner.numbers)
    isolation = build_isolation(
        flags, str(flags.runtime_path), isolators, images=roots.images, provisioner=roots.provisioner
    )
    parts = Parts(isolation=isolation, runtimes=await _runtimes(flags, names, max_descriptors), roots=roots)
    return Containerizer(flags, supervisors, parts)


def _roots(flags: AgentFlags, supervisors: Supervisors) -> Roots:
    if not flags.image_providers:
        return Roots()
    from tfmesos.agent.images import Images, Provisioner  # only who has images pays for them

    return Roots(Images.open(flags, supervisors, os.environ), Provisioner.open(flags, supervisors))


async def _runtimes(
    flags: AgentFlags, names: IsolatorNames, max_descriptors: int
) -> Mapping[RuntimeName, ContainerRuntime]:
    """Those that some container may need."""
    runtimes: dict[RuntimeName, ContainerRuntime] = {}
    if names.has_views:
        from tfmesos.agent.oci import OciRuntime

        runtimes[RuntimeName.OCI] = OciRuntime.find(flags, max_descriptors=max_descriptors)
    if "docker" in flags.containerizers:
        from tfmesos.agent.docker import DockerRuntime

        runtimes[RuntimeName.DOCKER] = await DockerRuntime.open(flags)
    return runtimes


def build_runner(
    flags: AgentFlags,
    identity: Identity,
    *,
    listens_on: Address,
    work_dir: WorkDir,
    containerizer: Containerizer,
    streams: ExecutorStreams,
    recorder: Recorder,
    send: Callable[[Message], None],
) -> Runner:
    """A runner with a core that knows nothing yet. `send`: to the master."""
    core = AgentCore(
        CoreSettings(
            max_completed_frameworks=flags.max_completed_frameworks,
            max_completed_executors=flags.max_completed_executors_per_framework,
            registration_timeout_s=flags.executor_registration_timeout,
            reregistration_timeout_s=flags.executor_reregistration_timeout,
            shutdown_grace_s=flags.executor_shutdown_grace_period,
            resizes_containers=containerizer.is_resizing,
        )
    )
    socket = listens_on.path if isinstance(listens_on, UnixAddress) else None
    environments = Environments(flags, socket)
    containers = ContainerRuns(containerizer, work_dir, environments, recorder, str(identity.pid))
    reporter = Reporter(core, identity.pid, recorder, containers.fill_status, send)
    watches = TaskWatches(containerizer, identity.pid.host)
    return Runner(core, reporter, containers, streams, watches, recorder, send)
