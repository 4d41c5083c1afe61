"""Reads and writes keys of a cluster's etcd through its JSON gateway, and runs an etcd without a cluster."""

import base64
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from sandbox.cluster.ports import held

HOST = "127.0.0.1"


class EtcdError(Exception):
    """etcd did not start, did not answer, or lacks a key."""


def value(port: int, key: str) -> str:
    """Return the key's value in base64, as `put` takes it. Raises EtcdError when there is no such key."""
    pairs = _call(port, "kv/range", {"key": _encoded(key)}).get("kvs") or []
    if len(pairs) != 1:
        raise EtcdError(f"etcd at {HOST}:{port} has no key {key}")
    return str(pairs[0]["value"])


def put(port: int, key: str, encoded: str) -> None:
    """Set the key to a value that is given in base64."""
    _call(port, "kv/put", {"key": _encoded(key), "value": encoded})


@contextmanager
def bare_etcd(program: Path, data: Path) -> Iterator[int]:
    """Run an etcd with its data in the folder for the length of the block, and yield its client port.

    Its member name is the one kwokctl gives, so that the folder can become a cluster's.
    """
    with held(2) as (client, peer):
        process = subprocess.Popen(
            _command(program, data, client=f"http://{HOST}:{client}", peer=f"http://{HOST}:{peer}"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait_until_ready(process, client)
            yield client
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _command(program: Path, data: Path, *, client: str, peer: str) -> list[str]:
    return [
        *(str(program), "--name=node0", f"--data-dir={data}", "--unsafe-no-fsync=true"),
        *(f"--listen-client-urls={client}", f"--advertise-client-urls={client}"),
        *(f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"),
        f"--initial-cluster=node0={peer}",
    ]


def _wait_until_ready(process: "subprocess.Popen[bytes]", port: int) -> None:
    until = time.monotonic() + 300
    while True:
        try:
            _call(port, "maintenance/status", {})
        except EtcdError:
            if process.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def _call(port: int, method: str, body: dict[str, Any]) -> dict[str, Any]:
    # urllib would use a proxy that the environment names.
    connection = HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("POST", f"/v3/{method}", json.dumps(body))
        response = connection.getresponse()
        text = response.read()
        if response.status != 200:
            raise EtcdError(f"etcd at {HOST}:{port}: {method}: {response.status} {text[:200]!r}")
        answer: dict[str, Any] = json.loads(text)
    except (OSError, HTTPException, ValueError) as error:
        raise EtcdError(f"etcd at {HOST}:{port}: {method}: {error}") from error
    finally:
        connection.close()
    return answer


def _encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()
