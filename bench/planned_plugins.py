"""Measures what plugins add to planning: `python bench/planned_plugins.py`.

A stack of 200 deployments on ten clusters with two classes each is planned three times: without plugins,
with one that asks for a sidecar's memory in the chain of the stack, and with the same one in a chain of each
cluster. Printed are CPU seconds of everything that is desired and of the plan alone, and how often the plugin
ran. A chain runs it three times, for pods that are alike and again where they are placed on other pools.
"""

import time
from dataclasses import replace
from typing import Any

from inferfleet.desired import desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.planning import plan
from inferfleet.plugins.api import Config, Plugin, PodTemplate, Request, put_container
from inferfleet.plugins.registry import builtin
from inferfleet.starting import collect_seldom

DEPLOYMENTS, CLUSTERS = 200, 10
RUNS: list[str] = []


def _sidecar(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
    """Run a cache beside the engine."""
    RUNS.append(request.workload)
    resources = {"requests": {"memory": "4Gi"}}
    put_container(template, {"name": "cache", "image": "cache:1", "resources": resources})
    return template


def _class(name: str, gpus: int) -> InferenceClass:
    node = {"cpu": "64", "memory": "400Gi"}
    resources = {"gpu": {"count": gpus, "memory": "24Gi"}}
    spec = {"node": node, "resources": resources}
    return InferenceClass.model_validate({"metadata": {"name": name}, "spec": spec})


def _documents(*, stack: tuple[PluginSpec, ...] = (), cluster: tuple[PluginSpec, ...] = ()) -> Documents:
    spec = {
        "cluster": {"source": "Existing", "existing": {"kubeconfig": {"path": "kubeconfig"}}},
        "nodePools": [{"name": name, "className": name, "nodeCount": 40} for name in ("large", "small")],
        "serving": {"gateway": {"className": "istio"}},
    }
    made = [
        InferenceCluster.model_validate({"metadata": {"name": f"c{n}"}, "spec": spec})
        for n in range(CLUSTERS)
    ]
    return Documents(
        Settings(stack="bench", plugins=stack),
        classes={"large": _class("large", 8), "small": _class("small", 4)},
        clusters={
            document.metadata.name: document.model_copy(
                update={"spec": document.spec.model_copy(update={"plugins": cluster})}
            )
            for document in made
        },
        deployments={f"ml/model-{n}": _deployment(f"model-{n}") for n in range(DEPLOYMENTS)},
    )


def _deployment(name: str) -> ModelDeployment:
    resources = {"requests": {"cpu": "4", "memory": "20Gi"}}
    container: dict[str, Any] = {"name": "engine", "image": "vllm:1", "resources": resources}
    workers = {"topology": {"tensor": 1}, "template": {"spec": {"containers": [container]}}}
    return ModelDeployment.model_validate(
        {"metadata": {"name": name, "namespace": "ml"}, "spec": {"replicas": 3, "workers": workers}}
    )


def main() -> None:
    collect_seldom()
    registry = builtin().with_(Plugin("sidecar", Config, _sidecar, version="1.0.0"))
    link = (PluginSpec(name="sidecar"),)
    stacks = {
        "no plugin": _documents(),
        "in the chain of the stack": _documents(stack=link),
        "in chains of clusters": _documents(cluster=link),
    }
    first = 0.0
    for name, documents in stacks.items():
        RUNS.clear()
        start = time.process_time()
        result = desired(documents, Lock(stack="bench"), registry=registry)
        whole = time.process_time() - start
        start = time.process_time()
        plan(replace(documents), Lock(stack="bench"), result.plan.demands)
        alone = time.process_time() - start
        first = first or whole
        replicas = sum(placement.replicas for placement in result.plan.placements)
        print(f"{name}: {replicas} replicas on {len(result.plan.placements)} spots")
        print(f"  all that is desired {whole:6.2f} CPU-seconds, ratio {whole / first:.2f}")
        print(f"  the plan alone      {alone:6.2f} CPU-seconds")
        print(f"  runs of the plugin  {len(RUNS):6}")


if __name__ == "__main__":
    main()
