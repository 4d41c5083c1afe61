"""Writes the administrator's kubeconfig of a simulated cluster, with all certificates in it."""

import base64
import os
from pathlib import Path

import yaml

from sandbox.cluster.kwok import KwokCluster


def write_kubeconfig(cluster: KwokCluster, path: Path, *, context: str) -> None:
    """Write the kubeconfig to `path` atomically, readable by its owner only."""
    pki = cluster.folder / "pki"

    def embedded(file: str) -> str:
        return base64.b64encode((pki / file).read_bytes()).decode()

    name = cluster.name
    server = {"server": cluster.server, "certificate-authority-data": embedded("ca.crt")}
    keys = {"client-certificate-data": embedded("admin.crt"), "client-key-data": embedded("admin.key")}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": server}],
        "users": [{"name": name, "user": keys}],
        "contexts": [{"name": context, "context": {"cluster": name, "user": name}}],
        "current-context": context,
    }
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w") as file:
        yaml.safe_dump(config, file, sort_keys=False)
    temporary.replace(path)
