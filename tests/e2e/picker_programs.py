"""Endpoint pickers as plain processes: they load a configuration, and say no or start.

All that they ask of a cluster before they start is which kinds of objects it has.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import yaml

from bench.picker_cluster import KINDS, discovery

_STARTED = '"Controller manager starting"'
# Seconds after which a picker that lives goes on.
_SOON = 5
_FLAGS = (
    *("--pool-name=pool", "--pool-namespace=default", "--tracing=false", "--zap-encoder=json"),
    *("--grpc-port=0", "--grpc-health-port=0", "--metrics-port=0"),
)


class _Discovery(BaseHTTPRequestHandler):
    """Answers what a cluster serves, and that it has nothing."""

    def do_GET(self) -> None:
        answer = discovery(self.path.partition("?")[0].strip("/"), KINDS)
        body = json.dumps(answer).encode()
        self.send_response(200 if answer else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def cluster(folder: Path) -> Iterator[Path]:
    """The kubeconfig of an API server that knows these kinds."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Discovery)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "nobody"}}],
        "users": [{"name": "nobody", "user": {}}],
    }
    path = folder / "kubeconfig.yaml"
    path.write_text(yaml.safe_dump(kubeconfig))
    try:
        yield path
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def ends(program: Path, flag: str, *, kubeconfig: Path) -> bool:
    """Whether the program ends by itself with this flag, before or soon after it has started."""
    with subprocess.Popen(
        [program, *_FLAGS, flag],
        env=_environment(kubeconfig),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            process.wait(_SOON)
        except subprocess.TimeoutExpired:
            process.kill()
            return False
    return True


def said(program: Path, config: Path, *, kubeconfig: Path) -> str | None:
    """What the program says when it refuses the configuration; None when it starts. It is ended then."""
    with subprocess.Popen(
        [program, f"--config-file={config}", *_FLAGS],
        env=_environment(kubeconfig),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if _STARTED in line:
                process.kill()
                return None
    return lines[-1] if lines else "nothing"


def _environment(kubeconfig: Path) -> dict[str, str]:
    return {
        "KUBECONFIG": str(kubeconfig),
        "NAMESPACE": "default",
        "POD_NAME": "pool-epp-0-0",
        "OTEL_TRACES_SAMPLER_ARG": "0",
    }
