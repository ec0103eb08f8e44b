"""The one table of what of Apache Mesos 1.11 our programs have; docs/compat.md is printed from it."""

from typing import Literal, NamedTuple


class Feature(NamedTuple):
    """One feature of Apache Mesos 1.11 and what of it is here."""

    name: str
    verdict: Literal["yes", "partly", "no", "better"]
    line: str = ""


_LATER = "a later release"

_SCHEDULER_API = (
    Feature("SUBSCRIBE, TEARDOWN, failover with the same id, `failover_timeout`", "yes", "JSON and protobuf"),
    Feature("ACCEPT with LAUNCH", "yes", "every check of Mesos, with its texts"),
    Feature("ACCEPT with LAUNCH_GROUP", "yes", "an empty group leaks no executor; in Mesos it does"),
    Feature("ACCEPT with RESERVE, UNRESERVE, CREATE, DESTROY, GROW_VOLUME, SHRINK_VOLUME", "no", _LATER),
    Feature("ACCEPT with CREATE_DISK, DESTROY_DISK (storage providers)", "no", "no resource providers"),
    Feature("DECLINE, REVIVE, SUPPRESS, filters, `offer_filters`", "yes", ""),
    Feature("KILL, SHUTDOWN, ACKNOWLEDGE, RECONCILE, MESSAGE, REQUEST", "yes", "REQUEST does nothing, as in Mesos"),
    Feature("UPDATE_FRAMEWORK", "yes", ""),
    Feature("ACKNOWLEDGE_OPERATION_STATUS, RECONCILE_OPERATIONS", "partly", "accepted; there are no operations yet"),
    Feature(
        "ACCEPT_INVERSE_OFFERS, DECLINE_INVERSE_OFFERS, inverse offers", "partly", f"accepted; maintenance: {_LATER}"
    ),
    Feature("UNKNOWN calls", "better", "501; Apache Mesos aborts"),
    Feature("all events, heartbeats, order and texts", "yes", "checked against recordings"),
    Feature(
        "capabilities of frameworks",
        "partly",
        "all known ones are read; those about revocable and shared resources change nothing",
    ),
    Feature(
        "offer constraints",
        "partly",
        "exists, not_exists, text_equals, text_not_equals; text_matches is refused by name",
    ),
    Feature(
        "v0 scheduler driver (libprocess)",
        "better",
        "the stock C++ driver runs in the tests; it goes on over a restart of the master at the same address",
    ),
    Feature(
        "multiple roles, hierarchical roles, weights, DRF",
        "yes",
        "the name of a role has at most 1024 characters, in Mesos any number",
    ),
    Feature("quota (guarantees, limits)", "no", _LATER),
    Feature("`--min_allocatable_resources`, `--filter_gpu_resources`, `--offer_timeout`", "yes", ""),
    Feature("oversubscription (revocable resources)", "no", ""),
    Feature("fault domains, regions", "no", ""),
)

_OPERATOR_API = (
    Feature("/state, /state-summary, /frameworks, /slaves, /tasks, /roles, JSONP, gzip", "yes", ""),
    Feature("/flags, /version, /health, /redirect, /teardown, /system/stats.json", "yes", ""),
    Feature(
        "/metrics/snapshot", "partly", "the names of Mesos; none of operations, quota, and of the allocator's inside"
    ),
    Feature("/metrics (Prometheus text)", "better", "Apache Mesos has none"),
    Feature("/files/browse, read, download", "yes", "with the containment of Mesos"),
    Feature(
        "/quota, /maintenance/*, /machine/*, /reserve, /unreserve, /create-volumes, /destroy-volumes",
        "partly",
        f"reading gives the empty answers; changing: {_LATER}",
    ),
    Feature("web UI", "no", "the endpoints that it reads are there"),
    Feature("GET_HEALTH, GET_FLAGS, GET_VERSION, GET_METRICS, GET_LOGGING_LEVEL, LIST_FILES, READ_FILE", "yes", ""),
    Feature(
        "GET_STATE, GET_AGENTS, GET_FRAMEWORKS, GET_EXECUTORS, GET_TASKS, GET_OPERATIONS, GET_ROLES, GET_MASTER",
        "yes",
        "",
    ),
    Feature("GET_WEIGHTS, UPDATE_WEIGHTS, /weights", "yes", "kept in the registry"),
    Feature("GET_QUOTA, GET_MAINTENANCE_STATUS, GET_MAINTENANCE_SCHEDULE", "yes", "empty where nothing can be set yet"),
    Feature("UPDATE_QUOTA, UPDATE_MAINTENANCE_SCHEDULE, START_ and STOP_MAINTENANCE", "no", _LATER),
    Feature("RESERVE_RESOURCES … SHRINK_VOLUME", "no", _LATER),
    Feature("TEARDOWN, MARK_AGENT_GONE, DRAIN_AGENT, DEACTIVATE_AGENT, REACTIVATE_AGENT", "yes", ""),
    Feature("SUBSCRIBE (event stream)", "better", "a subscriber that does not read is dropped at a bounded buffer"),
    Feature(
        "authentication (Basic, CRAM-MD5, JWT), authorization (ACLs), TLS",
        "no",
        f"{_LATER}; the default address is 127.0.0.1",
    ),
    Feature(
        "registry that survives a crash",
        "yes",
        "a file of ours, safe against kill -9 at any byte; not replicated; an operator's order is answered when it is "
        "on disk",
    ),
    Feature("several masters, ZooKeeper, replicated log", "no", _LATER),
    Feature(
        "agents unreachable, gone, returning", "better", "agents re-register at once after a restart of the master"
    ),
    Feature("modules, hooks, firewall rules, rate limits", "no", ""),
)

_EXECUTOR_API = (
    Feature("v1 executor API: SUBSCRIBE, UPDATE, MESSAGE, HEARTBEAT; all events", "yes", "JSON and protobuf"),
    Feature("re-subscription with unacknowledged tasks and updates", "yes", ""),
    Feature("environment of executors and tasks", "yes", "`MESOS_*` as recorded"),
    Feature("custom executors, shutdown grace, registration and reregistration time-outs", "yes", ""),
    Feature("command tasks", "better", "no executor process for each task: less memory, sooner started; same statuses"),
    Feature(
        "default executor (task groups)",
        "better",
        "survives kill -9 of its agent with its tasks; takes LAUNCH of a single task, too",
    ),
    Feature("executor driver (libprocess; `mesos-executor`, Java and C++ drivers)", "no", ""),
    Feature("`--http_executor_domain_sockets`", "no", ""),
    Feature("JWT for executors", "no", _LATER),
    Feature("health checks and checks (COMMAND, HTTP, TCP)", "yes", ""),
    Feature(
        "kill policies, `max_completion_time`, TASK_STARTING, TASK_KILLING",
        "better",
        "a KILL's own policy counts (in Mesos only with --http_command_executor)",
    ),
)

_AGENT_API = (
    Feature("/state, /containers, /monitor/statistics, /flags, /files/*, /metrics/snapshot, /health", "yes", ""),
    Feature("GET_* calls, LIST_FILES, READ_FILE", "yes", ""),
    Feature(
        "LAUNCH_, WAIT_, KILL_, REMOVE_CONTAINER and their NESTED_ twins",
        "better",
        "nested and standalone; the end of a standalone one stays known until it is removed",
    ),
    Feature(
        "LAUNCH_NESTED_CONTAINER_SESSION, ATTACH_CONTAINER_INPUT, ATTACH_CONTAINER_OUTPUT", "yes", "with a tty, too"
    ),
    Feature("PRUNE_IMAGES", "yes", ""),
    Feature("resource provider API", "no", ""),
    Feature(
        "checkpoints and recovery (`--recover`, `--strict`, `--reconfiguration_policy`)",
        "yes",
        "files of ours, with a format version",
    ),
    Feature(
        "`--runtime_dir`",
        "yes",
        "without it <work_dir>/run (Mesos: /var/run/mesos), so that several agents and agents of any user need no more "
        "than a work_dir; held by one agent at a time",
    ),
    Feature("signals: SIGTERM, SIGUSR1", "yes", ""),
    Feature("draining", "yes", ""),
    Feature("resource estimator, QoS controller", "no", ""),
)

_CONTAINERS = (
    Feature(
        "mesos containerizer, posix processes",
        "better",
        "a container's whole process tree ends, whoever left its session",
    ),
    Feature(
        "fetcher: file, http(s), ftp, archives, executable, output_file, cache",
        "better",
        "nothing leaves the sandbox; stalled and cut downloads fail; passwords and queries in URIs are not told",
    ),
    Feature("fetcher: hdfs, s3 and others by hadoop", "no", ""),
    Feature(
        "sandboxes, garbage collection (`--gc_delay`, `--gc_disk_headroom`)",
        "yes",
        "never sooner than a minute after the end",
    ),
    Feature(
        "rotation of stdout and stderr",
        "better",
        "by flags of the agent (--container_log_max_size, --container_log_max_files); in Mesos by a module",
    ),
    Feature("isolators posix/cpu, posix/mem, filesystem/posix", "yes", "they enforce nothing, as in Mesos"),
    Feature(
        "isolators cgroups/cpu, cgroups/mem, cgroups/devices, cgroups/pids, cgroups/all, linux/devices",
        "better",
        "on both cgroup versions; an executor's container grows before a task is delivered to it and shrinks before "
        "its end is told; if it cannot grow, those tasks fail and the others go on (Mesos: all end); with rules of "
        "devices, a nested container that names resources has its own; `share_cgroups: false` is heeded",
    ),
    Feature(
        "isolators filesystem/linux, posix/rlimits, linux/capabilities, linux/nnp, namespaces/ipc, namespaces/pid",
        "better",
        "by runc or crun; nothing is mounted in the host's own mount namespace; limits and capabilities that the agent "
        "has not itself are left out, with a warning; what an agent's --isolation does not serve is refused by its "
        "name (Mesos: ignored); /dev/shm of a container is not shared with those nested in it",
    ),
    Feature(
        "isolator docker/runtime",
        "yes",
        "entry point, command, environment and working directory of the image; its user is ignored with a warning, as "
        "in Mesos; `--docker_ignore_runtime`",
    ),
    Feature(
        "isolators volume/host_path, volume/sandbox_path, volume/image, volume/secret",
        "better",
        "no `..` in a container path, and no link of an image or in a sandbox leads out of it (Mesos: MESOS-8257); a "
        "SANDBOX_PATH source is a directory; BIDIRECTIONAL propagation is refused; secrets are files in --runtime_dir "
        "until the container ends",
    ),
    Feature(
        "isolator environment_secret",
        "yes",
        "values; references are refused, as in Mesos without a module; no page, log or command line shows a value",
    ),
    Feature("isolators disk/*, network/*, docker/volume, linux/seccomp", "no", "refused by their names"),
    Feature("`--launcher=linux`", "yes", "the default for root where there are cgroups, as in Mesos"),
    Feature(
        "isolator gpu/nvidia; GPUs of executors, task groups, nested and standalone containers",
        "better",
        "each task of a group has its own cards (Mesos: all share); growing forgets none and shrinking takes those of "
        "the task that ended; a card is offered again only when nothing of its container is left or holds it open, "
        "after a restart of the agent, too; MIG instances; CUDA_VISIBLE_DEVICES; memory and utilization in statistics "
        "and metrics; needs no filesystem/linux",
    ),
    Feature(
        "`--nvidia_gpu_devices` with `--resources` and `--isolation`",
        "yes",
        "the same decisions in the same order, with texts that spell the flags as they are; `--nvidia_library` names "
        "another library; an index that is not there is refused at once; a card in MIG mode counts as its instances",
    ),
    Feature(
        "volume of the NVIDIA driver's programs and libraries",
        "better",
        "made when the agent starts, in <work_dir>/gpu; libraries by the driver's version instead of by name; every "
        "ld.so.cache of glibc; one that cannot be made stops no agent",
    ),
    Feature(
        "GPUs in containers with images",
        "better",
        "the nodes of a container's own cards alone (Mesos: of all); those of a custom executor come and go with its "
        "tasks; the driver's files for plain images with GPUs, too, PATH and LD_LIBRARY_PATH of the task are extended "
        "instead of hiding them, and NVIDIA_VISIBLE_DEVICES of the task counts before that of the image; CDI "
        "specifications (`--nvidia_injection`)",
    ),
    Feature("`mesos-agent --doctor`", "better", "of ours: what an agent needs, what this machine lacks, how to get it"),
    Feature("isolator posix/gpus", "better", "of ours: cards are counted and named in CUDA_VISIBLE_DEVICES; no root"),
    Feature("AMD's GPUs", "no", "in Mesos neither"),
    Feature(
        "docker containerizer",
        "better",
        "the same command line; GPUs are passed, by name or node, from the book that all containers share; an end is "
        "told only when the engine runs nothing of the container any more; secrets are in no command line; out of "
        "memory is said; checks look from inside, or at the container's address. There is no executor beside the "
        "container, so its limits are the task's own resources (Mesos: 0.1 cpus and 32 MB more); parameters that name"
        " the container, detach it, restart it or give it GPUs are refused; volumes of other sources too (Mesos: "
        "ignored)",
    ),
    Feature(
        "container images (`--image_providers=docker`)",
        "better",
        "OCI manifests, indexes and zstd layers, too; archives of `docker save` and of OCI; by skopeo and umoci, one "
        "unpacked tree for each image, which several agents may share; digests are verified, room is looked for "
        "before a pull, credentials are in memory only; schema 1 is refused; overlay or copy (Mesos: aufs "
        "and bind, too)",
    ),
    Feature("images of appc, of hdfs", "no", "refused by text"),
    Feature("`limits` of tasks and containers", "no", f"refused by text until {_LATER}"),
    Feature("persistent volumes, hostname of containers of Mesos", "no", "refused by text"),
)

_PROGRAMS = (
    Feature(
        "mesos-master, mesos-agent: flags, `MESOS_*` variables, `file://` values", "partly", "those of docs/flags.md"
    ),
    Feature(
        "mesos-execute",
        "better",
        "also --task, --task_group, --tty; status 1 when a task did not finish (Mesos: 0), "
        "waits for a fitting offer and says what for; adds a little cpus and mem where --resources names none",
    ),
    Feature("mesos-cli and other clients of the APIs", "yes", "PyPI `avmesos` and `avmesos-cli` run in the tests"),
    Feature("mesos-local", "better", "`tfmesos.cluster()` and `tfrun` bring their own, as one process tree"),
    Feature("mesos-log, mesos-tail, mesos-cat, mesos-ps, mesos-scp", "no", ""),
    Feature("Windows, ports/CSI storage, seccomp, perf", "no", ""),
)

FEATURES = {
    "Scheduler API and allocation": _SCHEDULER_API,
    "Operator side of the master": _OPERATOR_API,
    "Executors and tasks": _EXECUTOR_API,
    "Agent": _AGENT_API,
    "Containers": _CONTAINERS,
    "Programs": _PROGRAMS,
}
