"""A process of engine stand-ins, told by lines as the agent tells it."""

import json
import subprocess
import sys
from typing import Any

from own_addresses import own_address


class Process:
    """`python -m sandbox.engine` and what it said."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sandbox.engine"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.logs: list[str] = []
        self._unheard: list[dict[str, Any]] = []
        self._logs_of: dict[str, list[str]] = {}

    def send(self, op: str, number: int, **more: Any) -> None:
        command = {"op": op, "id": f"uid-{number}", **more}
        if op == "start":
            own = {"name": f"ml/q-{number}", "address": own_address(number), "port": 18000, "engine": "vllm"}
            command = {**own, "args": ["--model=qwen", "--port=18000"], "gpus": 1, **command}
        assert self._process.stdin
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def hears(self, event: str) -> dict[str, Any]:
        """The next event of the kind; logs are kept."""
        assert self._process.stdout
        for line in self._process.stdout:
            said: dict[str, Any] = json.loads(line)
            if said["event"] == event:
                return said
            self.logs.append(said.get("line", ""))
        raise AssertionError(f"ended without {event}: {self.logs}")

    def hears_of(self, number: int, *events: str) -> dict[str, Any]:
        """The next event of these kinds of one engine; those of others are kept."""
        assert self._process.stdout
        while True:
            for said in self._unheard:
                if said["id"] == f"uid-{number}" and said["event"] in events:
                    self._unheard.remove(said)
                    return said
            said = json.loads(self._process.stdout.readline())
            if said["event"] == "log":
                self._logs_of.setdefault(said["id"], []).append(said.get("line", ""))
            else:
                self._unheard.append(said)

    def logs_of(self, number: int) -> list[str]:
        """What an engine said until its last event that was heard of."""
        return self._logs_of.get(f"uid-{number}", [])

    def hears_log(self, part: str) -> None:
        while not any(part in line for line in self.logs):
            self.logs.append(self.hears("log")["line"])

    def close(self) -> int:
        assert self._process.stdin
        self._process.stdin.close()
        code = self._process.wait(timeout=300)
        assert self._process.stdout
        self._process.stdout.close()
        return code
