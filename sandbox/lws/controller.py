"""Starts the controller of a cluster that has it, and waits until the API server can call its webhooks."""

import http.client
import os
import ssl
import subprocess
import time
from pathlib import Path

from sandbox.child import linked
from sandbox.cluster.kwok import KwokCluster
from sandbox.https import status
from sandbox.lws.webhooks import paths
from sandbox.problem import not_started
from sandbox.toolchain.tools import Tools

# The program's name, by which it is found and ended, and that of its log.
PROGRAM = "lws-controller"
# The folder and the file in a cluster's folder; with the file a cluster has the controller.
FOLDER, CONFIG = "lws", "config.yaml"
# The names under which the controller looks for its certificate in that folder.
CERTIFICATE, KEY = "tls.crt", "tls.key"
# Seconds it may take to start: it first lists what it watches.
_START_SECONDS = 300.0


def installed(cluster: KwokCluster) -> bool:
    """Return whether the cluster has the controller, running or not."""
    return (cluster.folder / FOLDER / CONFIG).exists()


def start(cluster: KwokCluster, tools: Tools) -> None:
    """Start the controller and return when it answers the API server. Raises SandboxProblem."""
    log = cluster.folder / "logs" / f"{PROGRAM}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as file:
        process = subprocess.Popen(
            [
                str(linked(cluster.folder, PROGRAM, tools.program(PROGRAM))),
                f"--config={cluster.folder / FOLDER / CONFIG}",
                f"--kubeconfig={cluster.folder / 'kubeconfig.yaml'}",
                *("--zap-log-level=info", "--zap-stacktrace-level=panic"),
            ],
            cwd=cluster.folder,
            # As for the components of the cluster (see cluster/kwok.py): more threads cost time when idle.
            env={**os.environ, "GOMAXPROCS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            # Ctrl-C ends the command that started it and must not end the controller.
            start_new_session=True,
        )
    _wait(cluster, tools, process, log)


def _wait(cluster: KwokCluster, tools: Tools, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until every webhook answers: they begin one after the other, behind one port."""
    left = list(paths(tools.lws / "webhooks"))
    tls = ssl.create_default_context(cafile=str(cluster.folder / FOLDER / CERTIFICATE))
    until = time.monotonic() + _START_SECONDS
    while left:
        if status(cluster.webhook_port, left[0], tls) not in (0, http.client.NOT_FOUND):
            left.pop(0)
        elif process.poll() is not None or time.monotonic() > until:
            state = "ended" if process.poll() is not None else "does not answer"
            raise not_started(f"cluster {cluster.name}: the LeaderWorkerSet controller {state}", log)
        else:
            time.sleep(0.1)
