"""The flags of `mesos-execute`: names and defaults of Apache Mesos 1.11; read from the command line only."""

from dataclasses import dataclass

from tfmesos.flags import flag, format_duration, parse_duration

__all__ = ["ExecuteFlags"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecuteFlags:
    """What the user asked for, not yet checked against each other."""

    master: str = flag(help="The master: HOST:PORT, HOST, http://HOST:PORT or unix:///PATH.", metavar="ADDRESS")
    task: str | None = flag(
        default=None, json=True, help="A TaskInfo in JSON, inline or in a file: '/path' or 'file:///path'."
    )
    task_group: str | None = flag(
        default=None, json=True, help="A TaskGroupInfo in JSON, '{\"tasks\": [...]}', inline or in a file."
    )
    name: str | None = flag(default=None, help="The task's name, which is its id too.")
    shell: bool = flag(default=True, help="Whether the command is a shell line.")
    command: str | None = flag(default=None, help="The shell line to run.")
    env: str | None = flag(
        default=None, json=True, help='The task\'s environment, as JSON: \'{"NAME": "value"}\', inline or in a file.'
    )
    resources: str = flag(
        default="cpus:1;mem:128", help="What the task needs, as text or JSON; of cpus and mem some is added if missing."
    )
    hadoop: str = flag(default="hadoop", help="The Hadoop client for --package.")
    hdfs: str = flag(default="localhost:9000", help="The HDFS name node for --package.")
    package: str | None = flag(default=None, help="A file to upload to HDFS: not supported.")
    overwrite: bool = flag(default=False, help="Whether --package may overwrite: not supported.")
    checkpoint: bool = flag(default=False, help="Whether the agent keeps the task over its own restart.")
    appc_image: str | None = flag(default=None, help="The Appc image to run in.")
    docker_image: str | None = flag(default=None, help="The Docker image to run in.")
    framework_capabilities: str | None = flag(
        default=None, help="Comma separated capabilities to ask for; GPU_RESOURCES is the one allowed."
    )
    containerizer: str = flag(default="mesos", help="The containerizer: 'mesos' or 'docker'.")
    effective_capabilities: str | None = flag(
        default=None, json=True, help='Linux capabilities in effect, as JSON: \'{"capabilities": ["NET_RAW"]}\'.'
    )
    bounding_capabilities: str | None = flag(
        default=None, json=True, help="Linux capabilities the task may ever have, as JSON."
    )
    rlimits: str | None = flag(
        default=None, json=True, help='Resource limits, as JSON: \'{"rlimits": [{"type": "RLMT_CORE"}]}\'.'
    )
    role: str = flag(default="*", help="The role whose resources are used.")
    kill_after: float | None = flag(
        default=None, parse=parse_duration, show=format_duration, help="Kill the task so long after it started to run."
    )
    networks: str | None = flag(default=None, help="Comma separated names of networks to join.")
    principal: str | None = flag(default=None, help="The principal to register with.")
    secret: str | None = flag(default=None, secret=True, help="The principal's secret: not supported.")
    volumes: str | None = flag(default=None, json=True, help="A JSON array of Volumes, inline or in a file.")
    content_type: str = flag(
        default="protobuf", help="'json' or 'protobuf'; both are accepted, and protobuf is what is spoken."
    )
    tty: bool = flag(default=False, help="Whether the task gets a terminal.")
    partition_aware: bool = flag(default=True, help="Whether a lost agent's task is reported as unreachable.")
