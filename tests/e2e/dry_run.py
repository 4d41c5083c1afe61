"""Objects shown to a real API server, which says whether it would take them and keeps nothing."""

import base64
import json
import ssl
import tempfile
from copy import deepcopy
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import yaml

_QUERY = "dryRun=All&fieldValidation=Strict&fieldManager=test"
_PATH = "/apis/apps/v1/namespaces/default/deployments"


class ApiServer:
    """The API server of a cluster of the sandbox, over one connection."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        [cluster], [user] = config["clusters"], config["users"]
        where = urlparse(cluster["cluster"]["server"])
        authority = base64.b64decode(cluster["cluster"]["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile() as pair:
            for part in ("client-certificate-data", "client-key-data"):
                pair.write(base64.b64decode(user["user"][part]) + b"\n")
            pair.flush()
            context.load_cert_chain(pair.name)
        self._connection = HTTPSConnection(where.hostname or "", where.port, context=context)

    def get(self, path: str) -> Any:
        """Return what is at a path."""
        return self._ask("GET", path, None, "application/json")[1]

    def refuses(self, manifest: dict[str, Any], path: str = _PATH) -> str:
        """Return why an object would not be taken, "" if it would: created, and by server-side apply.

        `path` is where objects of its kind are listed.
        """
        created = self._ask("POST", f"{path}?{_QUERY}", manifest, "application/json")
        name = manifest["metadata"]["name"]
        applied = self._ask(
            "PATCH", f"{path}/{name}?{_QUERY}&force=true", manifest, "application/apply-patch+yaml"
        )
        return next((answer["message"] for status, answer in (created, applied) if status >= 300), "")

    def refuses_pod(self, namespace: str, template: dict[str, Any]) -> str:
        """Return why a pod of this template would not be created in a namespace, "" if it would."""
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**template["metadata"], "name": "it", "namespace": namespace},
            "spec": template["spec"],
        }
        path = f"/api/v1/namespaces/{namespace}/pods?{_QUERY}"
        status, answer = self._ask("POST", path, pod, "application/json")
        return str(answer["message"]) if status >= 300 else ""

    def _ask(self, method: str, path: str, body: Any, kind: str) -> tuple[int, Any]:
        text = None if body is None else json.dumps(body)
        headers = {"content-type": kind, "accept": "application/json"}
        self._connection.request(method, path, body=text, headers=headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())


def deployment(template: dict[str, Any]) -> dict[str, Any]:
    """A Deployment with a template as a team wrote it, and the label and the grace period that we add."""
    whole = deepcopy(template)
    whole.setdefault("metadata", {}).setdefault("labels", {})["app"] = "it"
    whole["spec"].setdefault("terminationGracePeriodSeconds", 130)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "it", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "it"}}, "template": whole},
    }
