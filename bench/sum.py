"""42 end to end: `examples/plus.py` on the embedded cluster, against the same five processes started by hand."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import daemons
from tables import Row, print_table

ROUNDS = 3
SERVER = """
import json, sys
import tensorflow as tf
cluster, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
tf.distribute.Server(cluster, job_name=job, task_index=index).join()
"""
CLIENT = """
import json, socket, sys, time
import tensorflow.compat.v1 as tf
cluster = json.loads(sys.argv[1])
for address in (address for addresses in cluster.values() for address in addresses):
    host, port = address.split(":")
    while True:
        try:
            socket.create_connection((host, int(port))).close()
            break
        except OSError:
            time.sleep(0.02)
with tf.Graph().as_default():
    with tf.device("/job:ps/task:0"):
        a = tf.constant(10)
    with tf.device("/job:ps/task:1"):
        b = tf.constant(32)
    with tf.device("/job:worker/task:1"):
        total = a + b
    with tf.Session("grpc://" + cluster["worker"][0]) as session:
        print(session.run(total))
"""


def run(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, cwd=daemons.ROOT, env=daemons.clean_environment(), check=True, stdout=subprocess.PIPE, text=True
    )
    if done.stdout.split() != ["42"]:
        raise SystemExit(f"{command} printed {done.stdout!r} instead of 42")


def by_hand_s() -> float:
    addresses = [f"127.0.0.1:{daemons.free_port()}" for _ in range(4)]
    cluster = json.dumps({"ps": addresses[:2], "worker": addresses[2:]})
    begin = time.perf_counter()
    servers = [
        subprocess.Popen([sys.executable, "-c", SERVER, cluster, job, index], stderr=subprocess.DEVNULL)
        for job in ("ps", "worker")
        for index in ("0", "1")
    ]
    try:
        run([sys.executable, "-c", CLIENT, cluster])
    finally:
        for server in servers:
            server.kill()
            server.wait()
    return time.perf_counter() - begin


def ours_s() -> float:
    begin = time.perf_counter()
    run([sys.executable, "examples/plus.py"])
    return time.perf_counter() - begin


def main() -> None:
    by_hand, ours = [], []
    for _ in range(ROUNDS):  # in turn, so that both see the same machine
        by_hand.append(by_hand_s())
        ours.append(ours_s())
    print_table(
        [
            Row(
                measure="42, from start to exit",
                ours=statistics.median(ours),
                reference=statistics.median(by_hand),
                reference_name="five processes by hand",
                unit="s",
                goal=1.0,
            )
        ]
    )


if __name__ == "__main__":
    main()
