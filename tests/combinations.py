"""Combinations of chains, engines and accelerators, and the Deployment that a stack makes of each."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from example_plugins import LAST, UNRESTRICTED, examples
from one_request import REQUEST

from inferfleet.desired import desired
from inferfleet.documents.documents import Documents
from inferfleet.documents.kinds.inference_class import InferenceClass
from inferfleet.documents.kinds.inference_cluster import InferenceCluster
from inferfleet.documents.kinds.model_deployment import ModelDeployment
from inferfleet.documents.kinds.settings import Settings
from inferfleet.fleet.lock.lock import Lock
from inferfleet.plugins.contract import Request
from inferfleet.plugins.registry import builtin
from inferfleet.tables.devices import VENDOR_BY_DRIVER

ENGINES = ("vLLM", "SGLang", "TensorRT-LLM", "Triton", "Other")
_CHAINS = 3


@dataclass(frozen=True)
class Combination:
    """A chain for one engine on one accelerator."""

    number: int
    names: tuple[str, ...]
    engine: str
    driver: str

    def __str__(self) -> str:
        return f"{self.engine} on {self.driver}: {', '.join(self.names)}"

    @property
    def chain(self) -> list[dict[str, Any]]:
        """The links; the examples of a plugin take turns."""
        request = _request(self.engine, self.driver)
        chain = []
        for name in self.names:
            configs = examples(name, request)
            chain.append({"name": name, "config": configs[self.number % len(configs)]})
        return chain


def combinations() -> Iterator[Combination]:
    """Yield every engine on every accelerator with each of three chains, which together have all plugins."""
    others = [name for name in builtin().names if name != "restricted"]
    chains = [others[place::_CHAINS] for place in range(_CHAINS)]
    next(chain for chain in chains if not UNRESTRICTED & {*chain}).append("restricted")
    for number, (driver, engine, chain) in enumerate(product(VENDOR_BY_DRIVER, ENGINES, chains)):
        request = _request(engine, driver)
        names = sorted(chain, key=lambda name: LAST.index(name) if name in LAST else -1)
        suitable = tuple(name for name in names if examples(name, request))
        # Numbers of one chain are not all multiples of three, so that every example has its turn.
        yield Combination(number // _CHAINS + number % _CHAINS, suitable, engine, driver)


def _request(engine: str, driver: str) -> Request:
    device = replace(REQUEST.accelerator, driver=driver, resource=VENDOR_BY_DRIVER[driver].resource)
    facts = replace(REQUEST.deployment, engine=engine)
    node_class = replace(REQUEST.node_class, devices=(device,))
    return replace(REQUEST, deployment=facts, accelerator=device, node_class=node_class)


def deployment_of(driver: str, engine: str, chain: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the Deployment of one model, in the namespace `default`. Raises InvalidDocuments."""
    node = {"cpu": "96", "memory": "1Ti", "hugepages": {"2Mi": "64Gi", "1Gi": "64Gi"}}
    device = {"name": "gpu", "driver": driver, "deviceClassName": driver, "count": 8}
    nic = {"name": "nic", "driver": "dra.net", "claim": "Synthetic", "count": 8}
    kind = InferenceClass.model_validate(
        {"metadata": {"name": "node"}, "spec": {"node": node, "devices": [device, nic]}}
    )
    cluster = InferenceCluster.model_validate(
        {
            "metadata": {"name": "east"},
            "spec": {
                "cluster": {"source": "Existing", "existing": {"kubeconfig": {"configKey": "east"}}},
                "nodePools": [{"name": "h100", "className": "node", "nodeCount": 4}],
                "serving": {"gateway": {"className": "any"}},
            },
        }
    )
    template = {
        "spec": {
            "initContainers": [{"name": "fetch", "image": "fetch:1"}],
            "containers": [
                {
                    "name": "engine",
                    "image": "engine:1",
                    "env": [{"name": "A", "value": "1"}],
                    "resources": {"requests": {"cpu": "4", "memory": "16Gi"}},
                }
            ],
        }
    }
    model = ModelDeployment.model_validate(
        {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "replicas": 2,
                "engine": {"type": engine},
                "workers": {"topology": {"tensor": 2}, "template": template},
                "plugins": chain,
                "accelerator": VENDOR_BY_DRIVER[driver].name,
            },
        }
    )
    documents = Documents(
        settings=Settings(stack="test"),
        classes={"node": kind},
        clusters={"east": cluster},
        deployments={"default/web": model},
        services={},
    )
    [made] = desired(documents, Lock(stack="test")).clusters
    [manifest] = (
        thing.manifest
        for component in made.components
        if component.kind == "ModelReplicas"
        for thing in component.objects
        if thing.kind == "Deployment"
    )
    return manifest
