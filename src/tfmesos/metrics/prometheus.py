"""The text that Prometheus reads (text format 0.0.4).

A name of Mesos becomes `mesos_` and the name with `_` for every other character: `mesos_master_uptime_secs`. What it
says of a framework, a role, a task's state and the like becomes labels, so that `master/tasks_running` is
`mesos_master_tasks{state="running"}` and one query sums over all.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from tfmesos.metrics.registry import Snapshot

PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"
"""Its Content-Type."""

_PROGRAM = r"(?P<program>master|slave)"
_FRAMEWORK = r"master/frameworks/(?P<framework_name>[^/]*)/(?P<framework_id>[^/]*)"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), family)
    for pattern, family in (
        (_PROGRAM + r"/tasks_(?P<state>staging|starting|running|killing|unreachable)", "{program}_tasks"),
        (
            _PROGRAM + r"/tasks_(?P<state>finished|failed|killed|lost|error|dropped|gone|gone_by_operator)",
            "{program}_tasks_terminal",
        ),
        (
            r"master/task_(?P<state>[a-z_]+)/source_(?P<source>[a-z_]+)/reason_(?P<reason>[a-z_]+)",
            "master_task_states_by_reason",
        ),
        (
            _PROGRAM + r"/executors_(?P<state>registering|running|terminating|terminated|preempted)",
            "{program}_executors",
        ),
        (r"slave/gpus/(?P<uuid>[^/]+)/(?P<what>[a-z_]+)", "slave_gpu_{what}"),
        (r"master/slave_removals/reason_(?P<reason>[a-z]+)", "master_slave_removals_by_reason"),
        (_FRAMEWORK + r"/subscribed", "master_framework_subscribed"),
        (_FRAMEWORK + r"/(?P<what>calls|events|operations)", "master_framework_{what}"),
        (_FRAMEWORK + r"/(?P<what>calls|events|operations)/(?P<type>[a-z_]+)", "master_framework_{what}_by_type"),
        (_FRAMEWORK + r"/offers/(?P<fate>[a-z]+)", "master_framework_offers"),
        (_FRAMEWORK + r"/tasks/(?P<what>active|terminal)/task_(?P<state>[a-z_]+)", "master_framework_tasks_{what}"),
        (_FRAMEWORK + r"/roles/(?P<role>.+)/suppressed", "master_framework_suppressed"),
        (r"frameworks/(?P<principal>[^/]*)/(?P<what>messages_received|messages_processed)", "framework_{what}"),
        (r"allocator/mesos/offer_filters/roles/(?P<role>.*)/active", "allocator_offer_filters_active"),
        (r"allocator/mesos/roles/(?P<role>.*)/shares/dominant", "allocator_dominant_share"),
        (
            r"allocator/mesos/quota/roles/(?P<role>.*)/resources/(?P<resource>[^/]+)/(?P<what>[a-z_]+)",
            "allocator_quota_{what}",
        ),
        (
            r"allocator/mesos/resources/(?P<resource>[^/]+)/(?P<what>total|offered_or_allocated)",
            "allocator_resources_{what}",
        ),
    )
)
_IN_FAMILY = frozenset({"program", "what"})
"""Groups that go into the name and are no labels."""
_QUANTILES = {"p50": "0.5", "p90": "0.9", "p95": "0.95", "p99": "0.99", "p999": "0.999", "p9999": "0.9999"}


class _Sample(NamedTuple):
    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


def prometheus_text(snapshot: Snapshot) -> bytes:
    """All numbers; each family once with its type, families in order of their names."""
    blocks = [
        *_blocks("gauge", _samples(snapshot.gauges)),
        *_blocks("counter", _samples(snapshot.counters)),
        *_blocks("gauge", _extremes(snapshot.timers)),
        *_blocks("summary", _quantiles(snapshot.timers)),
    ]
    return "".join(text for _, text in sorted(blocks)).encode()


def _blocks(kind: str, samples: Iterable[_Sample]) -> Iterator[tuple[str, str]]:
    families: dict[str, list[_Sample]] = {}
    for sample in samples:
        family = sample.name.removesuffix("_count") if kind == "summary" else sample.name
        families.setdefault(family, []).append(sample)
    for family, members in families.items():
        yield family, f"# TYPE {family} {kind}\n" + "".join(map(_line, members))


def _samples(numbers: Mapping[str, float]) -> Iterator[_Sample]:
    for name, value in numbers.items():
        yield _Sample(*_family(name), value)


def _extremes(timers: Mapping[str, Mapping[str, float]]) -> Iterator[_Sample]:
    for name, values in timers.items():
        family, labels = _family(name)
        for part in ("max", "min"):
            if part in values:
                yield _Sample(f"{family}_{part}", labels, values[part])
        if "" in values:
            yield _Sample(f"{family}_last", labels, values[""])


def _quantiles(timers: Mapping[str, Mapping[str, float]]) -> Iterator[_Sample]:
    for name, values in timers.items():
        family, labels = _family(name)
        for part, quantile in _QUANTILES.items():
            if part in values:
                yield _Sample(family, (*labels, ("quantile", quantile)), values[part])
        if "count" in values:
            yield _Sample(f"{family}_count", labels, values["count"])


def _family(name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    for pattern, family in _RULES:
        if match := pattern.fullmatch(name):
            groups = match.groupdict()
            labels = tuple((key, unquote(value)) for key, value in groups.items() if key not in _IN_FAMILY)
            return "mesos_" + family.format(**groups), labels
    return "mesos_" + re.sub(r"[^a-zA-Z0-9_]", "_", name), ()


def _line(sample: _Sample) -> str:
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels)
    series = f"{sample.name}{{{labels}}}" if labels else sample.name
    return f"{series} {_number(sample.value)}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value) if value == value else "NaN"
