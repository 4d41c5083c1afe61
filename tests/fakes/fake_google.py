"""Google Cloud in a few lines: hands out tokens for a service account, and answers as the Container API."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cloud_pools import cloud_pools
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from inferfleet.cloud.gke.facts.schema import NODE_POOL
from inferfleet.cloud.values import CloudCluster, CloudComponent, CloudResource

PATH = "/v1/projects/acme/locations/us-east5/clusters/east-1a2b3c"
SYSTEM = CloudResource(
    NODE_POOL,
    "east/system",
    {"name": "system-0a0a0a", "cluster": "east-1a2b3c", "project": "acme", "location": "us-east5"},
)
PLAN = CloudCluster(
    "east",
    "acme",
    "us-east5",
    "east-1a2b3c",
    "IP",
    (CloudComponent("GkeCluster", "east", (SYSTEM,)),),
    cloud_pools(l4="l4-0a1b2c"),
    source="GKE",
    system_key=SYSTEM.key,
)


@dataclass
class FakeGoogle:
    """`clusters` holds status and body by path; all others are not found, and no policy is in force."""

    clusters: dict[str, tuple[int, Any]] = field(default_factory=dict)
    token_status: int = 200
    hang: bool = False
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # (path, Authorization)
    tokens: int = 0
    connections: int = 0
    denied: set[str] = field(default_factory=set)  # permissions on projects
    disabled: set[str] | None = None  # APIs; None: nobody answers as the Service Usage API

    def __post_init__(self) -> None:
        fake = self
        self._open = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Without it the body of every answer waits 40 ms for the client to acknowledge the headers.
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                fake.connections += 1

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path.endswith(":testIamPermissions"):
                    wanted = json.loads(body)["permissions"]
                    permitted = [one for one in wanted if one not in fake.denied]
                    self._send(*fake.clusters.get(self.path, (200, {"permissions": permitted})))
                    return
                fake.tokens += 1
                granted = {
                    "access_token": f"google-{fake.tokens}",
                    "expires_in": 3600,
                    "token_type": "Bearer",
                }
                refused = {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
                self._send(fake.token_status, granted if fake.token_status == 200 else refused)

            def do_GET(self) -> None:
                if fake.hang:
                    fake._open.wait(300)
                    return
                fake.asked.append((self.path, self.headers["Authorization"]))
                if fake.disabled is not None and ":batchGet?" in self.path:
                    names = parse_qs(urlsplit(self.path).query)["names"]
                    off = fake.disabled
                    services = [
                        {"name": name, "state": "DISABLED" if name.rpartition("/")[2] in off else "ENABLED"}
                        for name in names
                    ]
                    self._send(200, {"services": services})
                    return
                if self.path.endswith(":getEffectivePolicy") and self.path not in fake.clusters:
                    self._send(200, {"spec": {"rules": [{"allowAll": True}]}})
                    return
                missing = error(404, "NOT_FOUND", f"Not found: {self.path.removeprefix('/v1/')}.")
                self._send(*fake.clusters.get(self.path, (404, missing)))

            def _send(self, status: int, body: Any) -> None:
                text = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self._open.set()
        self.server.shutdown()
        self.server.server_close()


def error(code: int, status: str, message: str, **details: str) -> dict[str, Any]:
    """An error answer; `details` are those of Google's ErrorInfo."""
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "domain": "googleapis.com", **details}
    return {
        "error": {"code": code, "message": message, "status": status, "details": [info] if details else []}
    }


def running(host: str = "", *, ca: str | None = None, dns: str = "", **more: Any) -> dict[str, Any]:
    """A cluster that stands."""
    return {
        "name": "east-1a2b3c",
        "status": "RUNNING",
        "endpoint": host,
        "masterAuth": {"clusterCaCertificate": ca} if ca else {},
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"endpoint": dns, "allowExternalTraffic": True}},
        **more,
    }


def service_account(file: Path, token_uri: str) -> Path:
    """The file of an account whose tokens come from `token_uri`."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = {
        "type": "service_account",
        "project_id": "acme",
        "private_key_id": "k1",
        "private_key": pem.decode(),
        "client_email": "tester@acme.iam.gserviceaccount.com",
        "token_uri": token_uri,
    }
    file.write_text(json.dumps(account))
    return file
