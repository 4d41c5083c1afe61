"""An API server of a few lines: knows kinds, lists objects, and remembers what it was asked."""

import json
import ssl
import threading
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

KINDS = {
    "v1": {
        "Namespace": ("namespaces", False),
        "Node": ("nodes", False),
        "Secret": ("secrets", True),
        "ConfigMap": ("configmaps", True),
        "Service": ("services", True),
        "Pod": ("pods", True),
    },
    "apps/v1": {"Deployment": ("deployments", True)},
    "leaderworkerset.x-k8s.io/v1": {"LeaderWorkerSet": ("leaderworkersets", True)},
    "gateway.networking.k8s.io/v1": {
        "GatewayClass": ("gatewayclasses", False),
        "Gateway": ("gateways", True),
        "HTTPRoute": ("httproutes", True),
    },
    "inference.networking.k8s.io/v1": {"InferencePool": ("inferencepools", True)},
}


@dataclass
class FakeCluster:
    uid: str = "uid-1"
    objects: list[dict[str, Any]] = field(default_factory=list)
    kinds: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=lambda: dict(KINDS))
    status: dict[str, int] = field(default_factory=dict)  # path -> error status
    hang: bool = False
    denied: set[tuple[str, str]] = field(default_factory=set)  # (verb, plural) that credentials may not
    tls: ssl.SSLContext | None = None
    busy: int = 0  # so many requests are to be sent again later
    redirect: str = ""  # where every request is sent on to
    behind: dict[str, tuple[int, Any]] = field(default_factory=dict)  # path of GET or POST -> what is there
    asked: list[tuple[str, str]] = field(default_factory=list)  # (path with query, Accept)
    posted: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # (path, object)
    refuses: dict[str, tuple[int, Any]] = field(default_factory=dict)  # path of PATCH -> status and answer
    patched: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # (path with query, object)
    credentials: set[str | None] = field(default_factory=set)  # what was in Authorization
    headers: list[Message] = field(default_factory=list)  # of requests that were posted

    def __post_init__(self) -> None:
        fake = self
        self._open = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Without it the body of every answer waits 40 ms for the client to acknowledge the headers.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                if fake.hang:
                    fake._open.wait(300)
                    return
                fake.asked.append((self.path, self.headers["Accept"]))
                fake.credentials.add(self.headers["Authorization"])
                status, body = (307, {}) if fake.redirect else fake.answer(self.path)
                later = fake.busy > 0
                if later:
                    fake.busy -= 1
                    status, body = 429, {"kind": "Status"}
                text = json.dumps(body).encode()
                self.send_response(status)
                if later:
                    self.send_header("Retry-After", "1")
                if fake.redirect:
                    self.send_header("Location", fake.redirect)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.posted.append((self.path, body))
                fake.headers.append(self.headers)
                fake.credentials.add(self.headers["Authorization"])
                if self.path.endswith("/selfsubjectaccessreviews"):
                    asked = body["spec"]["resourceAttributes"]
                    body["status"] = {"allowed": (asked["verb"], asked["resource"]) not in fake.denied}
                status, body = fake.behind.get(self.path, (fake.status.get(self.path, 201), body))
                self._send(status, body)

            def do_PATCH(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.patched.append((self.path, body))
                self._send(*fake.refuses.get(urlsplit(self.path).path, (200, body)))

            def _send(self, status: int, body: Any) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if self.tls:
            self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._open.set()
        self.server.shutdown()
        self.server.server_close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"

    @property
    def address(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}"

    @property
    def kubeconfig(self) -> str:
        return yaml.safe_dump(kubeconfig(self.address))

    def answer(self, target: str) -> tuple[int, dict[str, Any]]:
        url = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path in self.behind:
            return self.behind[url.path]
        if url.path in self.status:
            return self.status[url.path], {"kind": "Status"}
        if url.path == "/api/v1/namespaces/kube-system":
            return 200, {"metadata": {"name": "kube-system", "uid": self.uid}}
        for version, kinds in self.kinds.items():
            root = f"/apis/{version}" if "/" in version else f"/api/{version}"
            if url.path == root:
                names = [(kind, *rest) for kind, rest in kinds.items()]
                resources = [
                    {"kind": kind, "name": name, "namespaced": spaced} for kind, name, spaced in names
                ]
                return 200, {"resources": [*resources, {"kind": "Scale", "name": "deployments/scale"}]}
            if url.path == root.rpartition("/")[0] and "/" in version:
                group = version.partition("/")[0]
                of = [one.partition("/")[2] for one in self.kinds if one.partition("/")[0] == group]
                return 200, {"versions": [{"version": one} for one in of]}
            if url.path.startswith(root + "/"):
                return self._objects(version, url.path.removeprefix(root + "/").split("/"), query)
        return 404, {"kind": "Status"}

    def _objects(self, version: str, steps: list[str], query: dict[str, str]) -> tuple[int, dict[str, Any]]:
        namespace = None
        if steps[0] == "namespaces" and len(steps) > 2:
            namespace, steps = steps[1], steps[2:]
        kind = next(kind for kind, (plural, _) in self.kinds[version].items() if plural == steps[0])
        found = [
            one
            for one in self.objects
            if (one["apiVersion"], one["kind"]) == (version, kind)
            and namespace in (None, one["metadata"].get("namespace"))
        ]
        if len(steps) == 2:
            named = [one for one in found if one["metadata"]["name"] == steps[1]]
            return (200, named[0]) if named else (404, {"kind": "Status"})
        wanted = [one.split("=") for one in query.get("labelSelector", "").split(",") if one]
        found = [one for one in found if _selected(one["metadata"].get("labels", {}), wanted)]
        start = int(query.get("continue", 0))
        end = start + int(query.get("limit", len(found)))
        more = {"continue": str(end)} if end < len(found) else {}
        return 200, {"metadata": more, "items": found[start:end]}


def _selected(labels: dict[str, str], wanted: list[list[str]]) -> bool:
    """`["key", "value"]` wants the value, `["key"]` any."""
    return all(key in labels and (not value or value == [labels[key]]) for key, *value in wanted)


def kubeconfig(server: str, **user: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": server}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "users": [{"name": "it", "user": user}],
    }


def thing(kind: str, name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    """An object of one of the kinds above; `labels` go into its metadata."""
    version = next(version for version, kinds in KINDS.items() if kind in kinds)
    metadata = {"name": name, "labels": more.pop("labels", {})} | (
        {"namespace": namespace} if namespace else {}
    )
    return {"apiVersion": version, "kind": kind, "metadata": metadata | more.pop("metadata", {}), **more}
