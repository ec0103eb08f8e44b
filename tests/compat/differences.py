"""The one table of differences between our programs and Apache Mesos 1.11, as the replay of the recordings sees them.

docs/compat.md is printed from it (scripts/print_compat.py); the replay fails for a difference that is not here, and for
one here that is none any more.
"""

import re
from dataclasses import dataclass, field

LATER = "part of a later release"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What of recorded sessions our program answers otherwise, and why.

    `rows` differ as a whole; `absent` are rows to which ours has nothing. `texts` are patterns of what the comparison
    says, allowed in every row of a session; `maybe` are such that depend on the time and need not come.
    `beyond` are events and messages that the recording has not.
    """

    what: str
    ours: str
    reason: str
    rows: dict[str, tuple[int, ...]] = field(default_factory=dict)
    absent: dict[str, tuple[int, ...]] = field(default_factory=dict)
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    maybe: dict[str, tuple[str, ...]] = field(default_factory=dict)
    beyond: dict[str, tuple[str, ...]] = field(default_factory=dict)


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        what="RESERVE, CREATE, DESTROY and UNRESERVE in ACCEPT",
        ours="dropped; an operation with an id gets OPERATION_ERROR with a message, one without an id nothing; "
        "tasks on the resources they would have made are refused",
        reason=LATER,
        rows={
            "scheduler-json": (125, 128, 135, 137, 181, 192, 196),
            "scheduler-protobuf": (128, 130, 131, 132, 181, 192, 196),
        },
        absent={
            "scheduler-json": (121, 123, 127, 133, 139, 150, 161, 172, 187, 190, 193, 197),
            "scheduler-protobuf": (121, 123, 124, 135, 139, 150, 161, 172, 187, 190, 194, 198),
        },
        beyond={
            "scheduler-json": ("StatusUpdateMessage t2 TASK_FAILED", "UPDATE t2 TASK_ERROR"),
            "scheduler-protobuf": ("StatusUpdateMessage t2 TASK_FAILED", "UPDATE t2 TASK_ERROR"),
        },
    ),
    Difference(
        what="LAUNCH_GROUP without tasks, and offers after it",
        ours="nothing is sent to the agent; no `executor_ids` in later offers",
        reason="Mesos keeps the executor of the empty group in its books for ever, a leak that we do not imitate",
        rows={"scheduler-errors": (564, 571, 574, 577)},
        absent={"scheduler-errors": (561,)},
    ),
    Difference(
        what="an HTTP/1.1 request without a Host header",
        ours="the connection is closed without an answer",
        reason="RFC 9112 demands the header; our HTTP server (aiohttp) treats its absence as bytes that are no HTTP",
        rows={"scheduler-errors": (127,)},
    ),
    Difference(
        what="a task with an image and a GPU",
        ours="refused",
        reason="a property of the replay, which has no images, so that it needs no root",
        absent={"gpu": (183, 195, 207)},
        beyond={"gpu": ("StatusUpdateMessage gpu-image TASK_FAILED",)},
    ),
    Difference(
        what="GPUs of an agent in the recorded session",
        ours="counted, without isolation: no task finds a device, and statistics and flags of cgroups are not there",
        reason="a property of the replay, whose machine has none",
        rows={"gpu": (97, 103, 105, 109)},
        absent={"gpu": (270,)},
        beyond={"gpu": ("StatusUpdateMessage gpu TASK_FAILED",)},
    ),
    Difference(
        what="`container_status` of a group's tasks while their containers start and end",
        ours="that of the task's own container as soon as there is one",
        reason="in Mesos it depends on which of two threads is faster",
        maybe=dict.fromkeys(
            ("default-executor", "mesos-execute"),
            (r"(has|lacks) update\.status\.container_status\.(network_infos|executor_pid)",),
        ),
    ),
    Difference(
        what="KILL_NESTED_CONTAINER of a container whose process is gone",
        ours="404: such a container is gone, too",
        reason="Mesos answers 500 until it has cleaned up, and its executor asks again each second",
        rows={"default-executor": (177, 179, 267, 298, 300)},
    ),
    Difference(
        what="resource limits of a task that needs memory beyond them; container images",
        ours="the task is not ended; a task with an image is refused",
        reason="the replay isolates nothing and has no images, so that it needs no root (with cgroups/mem such a task "
        "ends as recorded)",
        rows={"mesos-execute": (358,)},
        absent={"agent-kill-and-fail": (490,), "mesos-execute": (318, 329, 339)},
        beyond={
            "agent-kill-and-fail": ("StatusUpdateMessage oom TASK_FINISHED",),
            "mesos-execute": ("StatusUpdateMessage argv TASK_FAILED", "StatusUpdateMessage image TASK_FAILED"),
        },
    ),
    Difference(
        what="the program of a command task's executor",
        ours="none: our agent's supervisor does its work, so no messages go to one and none can be killed from outside",
        reason="a process, its memory and some 50 ms less for each task; statuses are the same",
        absent={"agent-kill-and-fail": (531,)},
    ),
    Difference(
        what="a command task whose command has no value (`mesos-execute --no-shell` without more)",
        ours="TASK_FAILED says `the command has no value`; no TASK_STARTING before",
        reason="the stock executor crashes, and the text is `Executor terminated`",
        rows={"mesos-execute": (465,)},
        absent={"mesos-execute": (455,)},
    ),
    Difference(
        what="the message of a task whose URIs cannot be fetched",
        ours="Mesos' text, and behind it the reason: `…: exited with status 1: Failed to fetch '/x': there is no file "
        "'/x'`",
        reason="Mesos tells it in the sandbox only",
        texts={
            "agent-kill-and-fail": (
                r"message is \"Failed to launch container: Failed to fetch all URIs for container '[^']*': exited with "
                r"status 1: Failed to fetch '/no/such/file\.tgz': there is no file '/no/such/file\.tgz'\", not \".*\"",
            )
        },
    ),
    Difference(
        what="executors of recorded sessions",
        ours="the replay has the recorded executor speak, and lets the agent start a program that only waits; so "
        "ExecutorInfo is CUSTOM and has that program's command",
        reason="a property of the replay; tests of our executors are in tests/executors",
        texts={
            "default-executor": (
                r"has subscribed\.executor_info\.command",
                r"has launch_group\.task_group\.tasks\[\]\.executor\.command",
            ),
            "mesos-execute": (
                r"has subscribed\.executor_info\.command",
                r"has launch_group\.task_group\.tasks\[\]\.executor\.command",
            ),
            "executor-protobuf": (
                r"lacks subscribed\.executor_info\..*",
                r"has subscribed\.executor_info\.type",
                r"lacks launch\.task\.command",
                r"has launch\.task\.executor",
                r"has executor_infos",
                r"has tasks\[\]\.executor_id",
            ),
        },
        beyond={"executor-protobuf": ("ExitedExecutorMessage", "ExitedExecutorMessage")},
    ),
    Difference(
        what="metrics of resource providers and of image provisioning in the agent",
        ours="resource providers: not there; images: with --image_providers only",
        reason="they count what there is",
        texts={"operator": (r"lacks (containerizer/mesos/(provisioner|filesystem)|resource_provider_manager)/.*",)},
    ),
    Difference(
        what="the ExecutorInfo of a command task in the agent's GET_EXECUTORS and GET_STATE",
        ours="its id, name and framework only",
        reason="there is no such executor",
        texts={"operator": (r"lacks get_(state\.get_)?executors\.(completed_)?executors\[\]\.executor_info\..*",)},
    ),
    Difference(
        what="what a restarted agent tells of the last update of its tasks",
        ours="`status_update_state` and `status_update_uuid`, as an agent tells that was not restarted",
        reason="Mesos forgets them when the agent is restarted",
        texts=dict.fromkeys(("agent-restart", "executor-protobuf"), (r"has tasks\[\]\.status_update_(state|uuid)",)),
    ),
    Difference(
        what="flags in /flags, /state and GET_FLAGS",
        ours="those that our programs have (docs/flags.md)",
        reason="the others belong to parts that ours have not",
        texts={
            "operator": (
                r"lacks flags\..*",
                r"has flags\.(container_log_max_files|max_completed_frameworks|nvidia_(library|injection))",
            ),
            "operator-agents": (r"lacks flags\..*",),
            "gpu": (r"lacks flags\..*",),
        },
    ),
    Difference(
        what="metrics of operations on resources, of quota, and of the allocator's inside",
        ours="not there",
        reason=LATER,
        texts=dict.fromkeys(("operator", "gpu"), (r"lacks (master/operations|allocator/mesos)/.*",)),
    ),
    Difference(
        what="percentiles of the time that the registrar takes to store",
        ours="not there as long as nothing was stored",
        reason="with --registry=in_memory there is nothing to wait for",
        texts={"gpu": (r"lacks registrar/state_store_ms/.*",)},
    ),
    Difference(
        what="allocator metrics of GPUs",
        ours="there, like those of cpus, mem and disk",
        reason="Mesos leaves them out",
        texts={"gpu": (r"has allocator/mesos/resources/gpus/.*",)},
    ),
    Difference(
        what="statistics of containers without cgroups",
        ours="no `mem_limit_bytes`, which nobody enforces; `processes` and `threads` besides",
        reason="counted over the process tree; Mesos needs an isolator for that",
        texts={
            "operator": (
                r"lacks (\[\]\.|get_containers\.containers\[\]\.resource_)statistics\.mem_limit_bytes",
                r"has (\[\]\.|get_containers\.containers\[\]\.resource_)statistics\.(processes|threads)",
            ),
        },
    ),
    Difference(
        what="`git_sha` and `git_tag` of the version",
        ours="not told",
        reason="they name the commit that stock Mesos was built from",
        texts={
            "operator": (r"lacks (get_version\.version_info\.)?git_(sha|tag)",),
            "operator-agents": (r"lacks git_(sha|tag)",),
            "gpu": (r"lacks git_(sha|tag)",),
        },
    ),
)

NOT_REPLAYED = {
    "authentication": f"{LATER}: our programs have no authentication yet",
    "two-masters, the master that does not lead": f"{LATER}: our master needs no ZooKeeper and always leads",
}
"""What of the recordings is not replayed, and why."""


def rows_of(session: str) -> frozenset[int]:
    """The rows of a session that differ."""
    return absent_of(session) | {row for difference in DIFFERENCES for row in difference.rows.get(session, ())}


def absent_of(session: str) -> frozenset[int]:
    """Those of them that do not come at all."""
    return frozenset(row for difference in DIFFERENCES for row in difference.absent.get(session, ()))


def texts_of(session: str) -> list[re.Pattern[str]]:
    """Patterns of what may be said of any row of a session."""
    return [re.compile(text) for difference in DIFFERENCES for text in difference.texts.get(session, ())]


def maybe_of(session: str) -> list[re.Pattern[str]]:
    """The same for what may be said or not."""
    return [re.compile(text) for difference in DIFFERENCES for text in difference.maybe.get(session, ())]


def beyond_of(session: str) -> list[str]:
    """The events and messages of a session that Mesos has not sent; whether they come in time for a replay to see
    them depends on it."""
    return sorted(event for difference in DIFFERENCES for event in difference.beyond.get(session, ()))
