"""Measures a chain of ten plugins over 2,000 pod templates: `python bench/plugins.py`.

Every plugin changes every template. The chain does all that it does for a stack: it tries each plugin again
and on its own output, compares what the plugins change, and checks the result. Two fleets are measured: 200
deployments on ten clusters each, and 2,000 deployments on one, whose templates all differ. Printed are CPU
seconds of this process, and the ratio to copying a template once per plugin with `copy.deepcopy` alone, which
depends less on the machine.
"""

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from inferfleet.desired.pods import chains, spot_pods
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.base import PluginSpec
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.roles import DECODE
from inferfleet.fleet.spot import Spot
from inferfleet.plugins.api import (
    Config,
    Plugin,
    PodTemplate,
    Request,
    add_args,
    add_capability,
    engine,
    mapping,
    put_container,
    put_env,
    put_init_container,
    put_mount,
    put_volume,
    require_nodes,
    sequence,
)
from inferfleet.plugins.registry import Registry
from inferfleet.starting import collect_seldom


def _spread(template: PodTemplate, request: Request) -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(request.selector)},
    }
    template["spec"]["topologySpreadConstraints"] = [spread]


def _hugepages(template: PodTemplate, request: Request) -> None:
    resources = mapping(engine(template), "resources")
    for kind in ("requests", "limits"):
        resources.setdefault(kind, {})["hugepages-2Mi"] = "2Gi"
    put_volume(template, {"name": "hugepages", "emptyDir": {"medium": "HugePages-2Mi"}})
    put_mount(engine(template), {"name": "hugepages", "mountPath": "/hugepages-2Mi"})


def _cache(template: PodTemplate, request: Request) -> None:
    put_volume(template, {"name": "models", "persistentVolumeClaim": {"claimName": "models"}})
    put_mount(engine(template), {"name": "models", "mountPath": "/models"})
    put_env(engine(template), {"name": "HF_HOME", "value": "/models"})


def _sidecar(template: PodTemplate, request: Request) -> None:
    put_container(template, {"name": "tokenizer", "image": "tokenizer:1", "args": [request.deployment.name]})


def _tolerate(template: PodTemplate, request: Request) -> None:
    toleration = {"key": "dedicated", "operator": "Exists"}
    tolerations = sequence(template, "spec", "tolerations")
    if toleration not in tolerations:
        tolerations.append(toleration)


EDITS: dict[str, Callable[[PodTemplate, Request], object]] = {
    "spread": _spread,
    "hugepages": _hugepages,
    "cache": _cache,
    "sidecar": _sidecar,
    "tolerate": _tolerate,
    "args": lambda template, _: add_args(engine(template), "--max-num-seqs=64"),
    "lock": lambda template, _: add_capability(engine(template), "IPC_LOCK"),
    "zones": lambda template, _: require_nodes(template, "topology.kubernetes.io/zone", ("a", "b")),
    "fetch": lambda template, _: put_init_container(template, {"name": "fetch", "image": "fetch:1"}),
    "team": lambda template, request: mapping(template, "metadata", "annotations").update(
        {"example.com/team": request.namespace}
    ),
}


def _plugin(name: str, change: Callable[[PodTemplate, Request], object]) -> Plugin:
    def edit(template: PodTemplate, request: Request, config: Config) -> PodTemplate:
        change(template, request)
        return template

    return Plugin(name, Config, edit, version="1.0.0")


def _documents(deployments: int, clusters: int) -> Documents:
    gpu = {"name": "gpu", "driver": "gpu.nvidia.com", "deviceClassName": "gpu.nvidia.com", "count": 1}
    node = {"cpu": "32", "memory": "120Gi"}
    classes = {"metadata": {"name": "l4"}, "spec": {"node": node, "devices": [gpu]}}
    cluster = {
        "cluster": {"source": "Existing", "existing": {"kubeconfig": {"path": "kubeconfig"}}},
        "nodePools": [{"name": "l4", "className": "l4", "nodeCount": deployments}],
        "serving": {"gateway": {"className": "istio"}},
    }
    return Documents(
        Settings(stack="bench", plugins=tuple(PluginSpec(name=name) for name in EDITS)),
        classes={"l4": InferenceClass.model_validate(classes)},
        clusters={
            f"c{n}": InferenceCluster.model_validate({"metadata": {"name": f"c{n}"}, "spec": cluster})
            for n in range(clusters)
        },
        deployments={f"ml/model-{n}": _deployment(f"model-{n}") for n in range(deployments)},
    )


def _deployment(name: str) -> ModelDeployment:
    env = [{"name": f"SETTING_{n}", "value": name} for n in range(5)]
    container = {
        "name": "engine",
        "image": "vllm:1",
        "args": [f"--model={name}"],
        "env": env,
        "resources": {"requests": {"cpu": "8", "memory": "60Gi"}},
    }
    workers = {"topology": {"tensor": 1}, "template": {"spec": {"containers": [container]}}}
    return ModelDeployment.model_validate(
        {"metadata": {"name": name, "namespace": "ml"}, "spec": {"replicas": 1, "workers": workers}}
    )


def _templates(documents: Documents, plugins: tuple[Plugin, ...]) -> list[Any]:
    bound = chains(documents, Registry(plugins))
    spots = [
        Spot(key, cluster, ((DECODE, "l4"),))
        for key in documents.deployments
        for cluster in documents.clusters
    ]
    made = [spot_pods(documents, spot, bound, None) for spot in spots]
    if wrong := [problem.what for _, _, link_problems in made for problem in link_problems]:
        raise SystemExit(f"{len(wrong)} problems of plugins: {wrong[0]}")
    return [role.outcome.template for roles, _, _ in made for role in roles]


def main() -> None:
    collect_seldom()
    for deployments, clusters in ((200, 10), (2_000, 1)):
        _measure(_documents(deployments, clusters))


def _measure(documents: Documents) -> None:
    plugins = tuple(_plugin(name, change) for name, change in EDITS.items())
    without = replace(documents, settings=documents.settings.model_copy(update={"plugins": ()}))
    start = time.process_time()
    generated = _templates(without, ())
    generating = time.process_time() - start
    start = time.process_time()
    _templates(documents, plugins)
    chain = time.process_time() - start - generating
    start = time.process_time()
    for template in generated:
        for _ in EDITS:
            copy.deepcopy(template)
    copying = time.process_time() - start
    print(f"{len(generated)} templates, {len(documents.deployments)} of them different")
    print(f"  generating them        {generating:6.2f} CPU-seconds")
    print(f"  ten plugins over them  {chain:6.2f} CPU-seconds")
    print(f"  deep copies alone      {copying:6.2f} CPU-seconds, one per template and plugin")
    print(f"  ratio                  {chain / copying:6.2f}")


if __name__ == "__main__":
    main()
