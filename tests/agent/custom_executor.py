"""A custom executor, as a framework's author might write one: the v1 API in JSON, the standard library alone.

Arguments: `crash` ends without a word at the first task; `deaf` never subscribes; `stubborn` ignores SHUTDOWN.
A task's data says what it does: `finish` ends well, anything else runs until it is killed.
"""

import base64
import http.client
import json
import os
import sys
import time
import uuid
from typing import Any

PATH = "/api/v1/executor"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}
IDS = {
    "framework_id": {"value": os.environ["MESOS_FRAMEWORK_ID"]},
    "executor_id": {"value": os.environ["MESOS_EXECUTOR_ID"]},
}


def connect() -> http.client.HTTPConnection:
    host, _, port = os.environ["MESOS_AGENT_ENDPOINT"].rpartition(":")
    return http.client.HTTPConnection(host, int(port))


class Executor:
    def __init__(self) -> None:
        self.calls = connect()
        self.unacknowledged: dict[str, dict[str, Any]] = {}

    def call(self, kind: str, **parts: object) -> None:
        self.calls.request("POST", PATH, json.dumps({**IDS, "type": kind, **parts}), HEADERS)
        answer = self.calls.getresponse()
        answer.read()
        assert answer.status == 202, answer.status

    def update(self, task_id: dict[str, Any], state: str, message: str = "") -> None:
        number = base64.b64encode(uuid.uuid4().bytes).decode()
        status = {
            "task_id": task_id,
            "executor_id": IDS["executor_id"],
            "state": state,
            "source": "SOURCE_EXECUTOR",
            "uuid": number,
            "timestamp": time.time(),
            "message": message,
        }
        self.unacknowledged[number] = status
        self.call("UPDATE", update={"status": status})

    def launch(self, task: dict[str, Any]) -> None:
        if "crash" in sys.argv:
            sys.exit(7)
        self.update(task["task_id"], "TASK_STARTING")
        self.update(task["task_id"], "TASK_RUNNING", "hello")
        if base64.b64decode(task.get("data", "")) == b"finish":
            self.update(task["task_id"], "TASK_FINISHED", "done")

    def hear(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind == "LAUNCH":
            self.launch(event["launch"]["task"])
        elif kind == "LAUNCH_GROUP":
            for task in event["launch_group"]["task_group"]["tasks"]:
                self.launch(task)
        elif kind == "KILL":
            self.update(event["kill"]["task_id"], "TASK_KILLED", "killed on request")
        elif kind == "ACKNOWLEDGED":
            del self.unacknowledged[event["acknowledged"]["uuid"]]
        elif kind == "MESSAGE":
            text = base64.b64decode(event["message"]["data"])
            self.call("MESSAGE", message={"data": base64.b64encode(b"echo: " + text).decode()})
        elif kind == "SHUTDOWN" and "stubborn" not in sys.argv:
            sys.exit(0)

    def run(self) -> None:
        stream = connect()
        stream.request("POST", PATH, json.dumps({**IDS, "type": "SUBSCRIBE", "subscribe": {}}), HEADERS)
        answer = stream.getresponse()
        assert answer.status == 200, answer.read()
        while length := answer.readline():
            event = json.loads(answer.read(int(length)))
            print(event["type"], flush=True)
            self.hear(event)
        time.sleep(1000)


if __name__ == "__main__":
    print("\n".join(f"{name}={value}" for name, value in sorted(os.environ.items())), flush=True)
    time.sleep(1000) if "deaf" in sys.argv else Executor().run()
