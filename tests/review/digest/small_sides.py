"""The smallest fleets that digests compare: clusters of one class, and models that differ in little."""

from typing import Any

from digested import loaded, side
from documents import API, Document, cluster

from inferfleet.fleet.lock.lock import Lock
from inferfleet.review.digest.update import Side

STACK = "prod"
IMAGE = "docker.io/vllm/vllm-openai:v0.30.0"
PRICE = {"currency": "USD", "onDemand": "4", "asOf": "2026-11-01", "source": "https://example.com/prices"}


def l4(price: dict[str, str] | None = None) -> Document:
    spec: dict[str, Any] = {
        "node": {"cpu": "47", "memory": "176Gi", "pods": 110},
        "resources": {"gpu": {"count": 4, "memory": "23034Mi"}},
    }
    return {
        "apiVersion": API,
        "kind": "InferenceClass",
        "metadata": {"name": "l4"},
        "spec": {**spec, **({"price": price} if price else {})},
    }


def place(name: str, nodes: int = 1, **spec: Any) -> Document:
    """A cluster with one pool."""
    return cluster(name, pools={"l4": ("l4", nodes)}, **spec)


def model(name: str = "qwen", *, image: str = IMAGE, env: str = "", **spec: Any) -> Document:
    engine: dict[str, Any] = {"name": "engine", "image": image, "command": ["vllm", "serve", "some/model"]}
    engine["args"] = ["--shutdown-timeout=90"]
    if env:
        engine["env"] = [{"name": "KEY", "value": env}]
    template = {"spec": {"containers": [engine]}}
    return {
        "apiVersion": API,
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": "ml", "labels": {"model": name}},
        "spec": {"replicas": 1, "workers": {"topology": {"tensor": 1}, "template": template}, **spec},
    }


def standing(*documents: Document, **settings: Any) -> Side:
    """A side whose lock is written."""
    return side(loaded(documents, STACK, **settings), _written(*documents, **settings))


def head(base: Side, *documents: Document, **settings: Any) -> Side:
    """A change that leaves the lock alone."""
    return side(loaded(documents, STACK, **settings), base=base)


def head_with_lock(base: Side, *documents: Document, **settings: Any) -> Side:
    """The same change with the lock that `plan --write` writes then."""
    made = head(base, *documents, **settings)
    return side(made.documents, made.desired.plan.lock)


def _written(*documents: Document, **settings: Any) -> Lock:
    return side(loaded(documents, STACK, **settings)).desired.plan.lock
