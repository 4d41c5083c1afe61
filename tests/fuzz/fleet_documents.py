"""A fleet of the campaign as plain documents, with the settings, the lock and what was seen."""

import json
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.model_service import ModelService
from inferfleet.documents.kinds.policy import Quota
from inferfleet.documents.kinds.settings import Settings
from inferfleet.documents.loading.validation import validated
from inferfleet.fleet.lock.capacity import Observation
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.shapes import PoolKey

Raw = dict[str, Any]

_PRICE = {"currency": "USD", "asOf": "2026-01-01", "source": "test"}
_FABRIC = {"name": "nic", "driver": "dra.net", "claim": "Synthetic", "count": 8}


def _gpu(count: int, memory: str, **more: Any) -> Raw:
    known = {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": count}
    return {**known, "capacity": {"memory": {"value": memory}}, **more}


CLASSES: dict[str, Raw] = {
    "l4": {
        "node": {"cpu": "48", "memory": "192Gi"},
        "devices": [_gpu(4, "24Gi")],
        "price": {**_PRICE, "onDemand": "8"},
    },
    "tiny": {
        "node": {"cpu": "16", "memory": "64Gi"},
        "devices": [_gpu(2, "48Gi")],
        "price": {**_PRICE, "onDemand": "6", "spot": "2"},
    },
    "h100": {"node": {"cpu": "200", "memory": "1800Gi"}, "devices": [_gpu(8, "80Gi"), _FABRIC]},
    "claimed": {
        "node": {"cpu": "96", "memory": "900Gi"},
        "allocation": "DRA",
        "devices": [_gpu(8, "80Gi", attributes={"architecture": {"string": "Hopper"}})],
        "price": {**_PRICE, "onDemand": "40", "spot": "20"},
    },
    "cores": {"node": {"cpu": "8", "memory": "32Gi"}, "price": {**_PRICE, "onDemand": "1"}},
}
# Conditions, with the classes on which they are true; None for one that is no expression.
SELECTORS: dict[str, frozenset[str] | None] = {
    "capacity['gpu.nvidia.com/memory'].isGreaterThan(quantity('40Gi'))": frozenset(
        {"tiny", "h100", "claimed"}
    ),
    "capacity['gpu.nvidia.com/memory'].isLessThan(quantity('40Gi'))": frozenset({"l4"}),
    "attributes['gpu.nvidia.com/architecture'] == 'Hopper'": frozenset({"claimed"}),
    "capcity": None,
}
REGION = "topology.kubernetes.io/region"
_KINDS: dict[str, Any] = {
    "InferenceClass": InferenceClass,
    "InferenceCluster": InferenceCluster,
    "ModelDeployment": ModelDeployment,
    "ModelService": ModelService,
    "Quota": Quota,
}


@dataclass
class Fleet:
    """Documents by kind and name, the settings, what the lock has, and what was seen of pools."""

    documents: dict[tuple[str, str], Raw]
    objective: str = "balance"
    lock: Lock = field(default_factory=lambda: Lock(stack="test"))
    seen: dict[PoolKey, Observation] = field(default_factory=dict)

    def put(self, kind: str, raw: Raw) -> None:
        """Add a document, or take it for the one of its name."""
        self.documents[kind, raw["metadata"]["name"]] = raw

    def of(self, kind: str) -> list[Raw]:
        """Return the documents of a kind."""
        return [raw for (other, _), raw in self.documents.items() if other == kind]

    def loaded(self) -> Documents:
        """Return the documents as models. Raises ValueError where one of them is invalid."""
        by_kind: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
        for name, spec in CLASSES.items():
            by_kind["InferenceClass"][name] = _model(
                "InferenceClass", {"metadata": {"name": name}, "spec": spec}
            )
        for (kind, _), raw in self.documents.items():
            document = _model(kind, raw)
            key = document.metadata.name
            if kind not in ("InferenceClass", "InferenceCluster"):
                key = document.metadata.key
            by_kind[kind][key] = document
        return Documents(
            Settings(stack="test", objective=self.objective),
            classes=by_kind["InferenceClass"],
            clusters=by_kind["InferenceCluster"],
            deployments=by_kind["ModelDeployment"],
            services=by_kind["ModelService"],
            quotas=by_kind["Quota"],
        )

    def known(self) -> Lock:
        """Return the lock, with what was seen."""
        return replace(self.lock, seen=self.seen)


def _model(kind: str, raw: Raw) -> Any:
    return _read(kind, json.dumps(raw))


@cache
def _read(kind: str, raw: str) -> Any:
    """Documents are read once: an edit leaves most of them as they are."""
    head = {"apiVersion": "inferfleet.dev/v1alpha1", "kind": kind}
    document, problems = validated(_KINDS[kind], {**head, **json.loads(raw)})
    if document is None:
        raise ValueError(f"{kind}: {problems}")
    return document
