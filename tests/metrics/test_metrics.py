"""Numbers by Mesos' names, and as Prometheus reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tfmesos.metrics import Metrics, Snapshot, Timer, machine_numbers, prometheus_text, shares

RECORDED = Path(__file__).parents[1] / "golden/transcripts/operator/169-master-to-client-200.json"


def test_counters_are_zero_from_the_start_and_appear_with_their_first_count() -> None:
    metrics = Metrics(["master/dropped_messages"])
    metrics.counts["master/task_failed/source_agent/reason_x"] += 2
    assert metrics.snapshot(0.0).flat() == {
        "master/dropped_messages": 0.0,
        "master/task_failed/source_agent/reason_x": 2.0,
    }


def test_gauges_are_read_only_when_somebody_asks() -> None:
    reads: list[str] = []

    def read() -> dict[str, float]:
        reads.append("read")
        return {"master/elected": 1.0}

    metrics = Metrics(gauges=[read])
    assert not reads
    assert metrics.snapshot(0.0).flat() == {"master/elected": 1.0}
    assert len(reads) == 1


def test_a_snapshot_is_sorted_by_name() -> None:
    metrics = Metrics(["z", "a"], [lambda: {"m": 1.0}])
    metrics.record("b", 1.0, 0.0)
    assert list(metrics.snapshot(0.0).flat()) == ["a", "b", "m", "z"]


def test_a_timer_says_what_stock_mesos_says_of_the_same_values() -> None:
    """Recorded: three values, of which Mesos shows the extremes and the one in the middle."""
    recorded = json.loads(RECORDED.read_bytes())
    name = "registrar/state_store_ms"
    metrics = Metrics()
    for part in ("/min", "/max", "/p50"):  # the last one was the middle one
        metrics.record(name, recorded[name + part], 0.0)
    ours = metrics.snapshot(0.0).flat()
    assert ours == {key: pytest.approx(value) for key, value in recorded.items() if key.startswith(name)}


def test_a_timer_has_no_percentiles_before_its_second_value_and_forgets_after_an_hour() -> None:
    timer = Timer()
    assert timer.values(0.0) == {}
    timer.record(5.0, 0.0)
    assert timer.values(0.0) == {"": 5.0}
    timer.record(7.0, 3000.0)
    assert timer.values(3000.0)["count"] == 2.0
    assert timer.values(3601.0) == {"": 7.0}


def test_a_timer_keeps_a_bounded_number_of_values() -> None:
    timer = Timer()
    for number in range(5000):
        timer.record(float(number), 1.0)
    assert timer.values(1.0)["count"] == 1000.0
    assert timer.values(1.0)["min"] == 4000.0


def test_shares_of_nothing_are_zero() -> None:
    assert shares("master/gpus", 0, 0) == {
        "master/gpus_total": 0.0,
        "master/gpus_used": 0.0,
        "master/gpus_percent": 0.0,
    }
    assert shares("cpus", 4000, 500)["cpus_percent"] == 0.125


def test_names_that_carry_ids_and_states_become_labels() -> None:
    name = "master/frameworks/my%20%22job%22/f-1"
    snapshot = Snapshot(
        gauges={
            "master/tasks_running": 3.0,
            "master/tasks_staging": 1.0,
            f"{name}/subscribed": 1.0,
            "slave/gpus/GPU-1/memory_used_bytes": 6.0,
            "slave/gpus_total": 2.0,
        },
        counters={
            "master/tasks_failed": 2.0,
            "master/task_failed/source_executor/reason_command_executor_failed": 2.0,
            f"{name}/calls/accept": 4.0,
            f"{name}/calls": 5.0,
            "frameworks/a%2Fb/messages_received": 7.0,
        },
    )
    framework = 'framework_name="my \\"job\\"",framework_id="f-1"'
    assert prometheus_text(snapshot).decode().splitlines() == [
        "# TYPE mesos_framework_messages_received counter",
        'mesos_framework_messages_received{principal="a/b"} 7.0',
        "# TYPE mesos_master_framework_calls counter",
        f"mesos_master_framework_calls{{{framework}}} 5.0",
        "# TYPE mesos_master_framework_calls_by_type counter",
        f'mesos_master_framework_calls_by_type{{{framework},type="accept"}} 4.0',
        "# TYPE mesos_master_framework_subscribed gauge",
        f"mesos_master_framework_subscribed{{{framework}}} 1.0",
        "# TYPE mesos_master_task_states_by_reason counter",
        'mesos_master_task_states_by_reason{state="failed",source="executor",reason="command_executor_failed"} 2.0',
        "# TYPE mesos_master_tasks gauge",
        'mesos_master_tasks{state="running"} 3.0',
        'mesos_master_tasks{state="staging"} 1.0',
        "# TYPE mesos_master_tasks_terminal counter",
        'mesos_master_tasks_terminal{state="failed"} 2.0',
        "# TYPE mesos_slave_gpu_memory_used_bytes gauge",
        'mesos_slave_gpu_memory_used_bytes{uuid="GPU-1"} 6.0',
        "# TYPE mesos_slave_gpus_total gauge",
        "mesos_slave_gpus_total 2.0",
    ]


def test_timers_become_summaries() -> None:
    metrics = Metrics()
    for value_ms in (1.0, 3.0):
        metrics.record("allocator/mesos/allocation_run_ms", value_ms, 0.0)
    lines = prometheus_text(metrics.snapshot(0.0)).decode().splitlines()
    name = "mesos_allocator_mesos_allocation_run_ms"
    assert f"# TYPE {name} summary" in lines
    assert f'{name}{{quantile="0.5"}} 2.0' in lines
    assert f"{name}_count 2.0" in lines
    assert f"{name}_max 3.0" in lines


def test_every_recorded_name_makes_legal_prometheus_text_with_each_series_once() -> None:
    recorded = json.loads(RECORDED.read_bytes())
    lines = prometheus_text(Snapshot(gauges=recorded)).decode().splitlines()
    series = [line.rsplit(" ", 1)[0] for line in lines if not line.startswith("#")]
    families = [line for line in lines if line.startswith("#")]
    assert len(series) == len(recorded) == len(set(series))
    assert len(families) == len(set(families))


def test_the_machine_has_memory_and_load() -> None:
    numbers = machine_numbers()
    assert 0 < numbers["mem_free_bytes"] < numbers["mem_total_bytes"]
    assert numbers["cpus_total"] >= 1
    assert numbers["load_1min"] >= 0


def test_numbers_beyond_all_bounds_are_written_as_prometheus_wants_them() -> None:
    text = prometheus_text(Snapshot(gauges={"a": float("inf"), "b": float("nan"), "c": float("-inf")})).decode()
    assert [line for line in text.splitlines() if line[0] != "#"] == ["mesos_a +Inf", "mesos_b NaN", "mesos_c -Inf"]
