"""ModelDeployment: run so many replicas of this, on hardware like that."""

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from inferfleet.api.kinds.base import (
    API_VERSION,
    Duration,
    LabelSelector,
    Model,
    NamespacedMetadata,
    NotYetOffered,
    Toleration,
)
from inferfleet.api.kinds.plugin_spec import PluginSpec
from inferfleet.api.kinds.pod_template import PodTemplate, ResourceRequirements
from inferfleet.api.kinds.text_rules import HOSTNAME
from inferfleet.api.problems import Mistake, Mistaken, mistaken
from inferfleet.api.wording import shown

EngineType = Literal["vLLM", "SGLang", "TensorRT-LLM", "Triton", "Other"]
Hostname = Annotated[str, HOSTNAME]


def _http(headers: dict[str, str]) -> dict[str, str]:
    """Headers as an HTTPRoute can match them: https://gateway-api.sigs.k8s.io/reference/spec/#httpheadermatch."""
    found = []
    for name, value in headers.items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}", name):
            found.append(Mistake(f"{shown(name)!r} is not a header name", "Write it like x-model", (name,)))
        if not 1 <= len(value) <= 4096:
            what = f"header {shown(name)} must have 1 to 4096 characters, not {len(value)}"
            found.append(Mistake(what, "Change it", (name,)))
    if len(headers) > 16:
        found.append(Mistake(f"a route matches at most 16 headers, not {len(headers)}", "Remove some"))
    if found:
        raise Mistaken(*found)
    return headers


class Topology(Model):
    """GPUs per pod = tensor x dataLocal; pods per worker = pipeline x data / dataLocal."""

    tensor: int = Field(ge=1, le=64)
    pipeline: int = Field(default=1, ge=1, le=64)
    data: int = Field(default=1, ge=1, le=512)
    data_local: int = Field(default=1, ge=1, le=64)

    @model_validator(mode="after")
    def _divides(self) -> "Topology":
        if self.data % self.data_local:
            what = f"data {self.data} must be a multiple of dataLocal {self.data_local}"
            raise mistaken(what, "Change one of the two")
        if self.pods_per_worker > 1:
            raise mistaken(
                f"workers of {self.pods_per_worker} pods (pipeline x data / dataLocal) are not yet offered",
                "Keep pipeline at 1 and data equal to dataLocal",
            )
        return self

    @property
    def gpus_per_pod(self) -> int:
        return self.tensor * self.data_local

    @property
    def pods_per_worker(self) -> int:
        return self.pipeline * self.data // self.data_local


class Workers(Model):
    """`count` engine instances of one replica, each of the given shape."""

    count: int = Field(default=1, ge=1, le=64)
    topology: Topology
    template: PodTemplate


class NodeSelector(Model):
    """A CEL expression over the devices of a class; it must be true for a pool to be used."""

    cel: str = Field(min_length=1, max_length=10_240)


class Engine(Model):
    """The model server; what is left out follows from its type (see `profiles`).

    `startup` is the time a pod may take to load its model, before it counts as failed.
    """

    type: EngineType = "vLLM"
    port: int | None = Field(default=None, ge=1, le=65_535)
    startup: Duration | None = None


class EndpointPicker(Model):
    """Overrides for the endpoint picker of this deployment; `config` is a whole EndpointPickerConfig."""

    image: str | None = Field(default=None, min_length=1)
    replicas: int = Field(default=1, ge=1, le=10)
    resources: ResourceRequirements | None = None
    port: int | None = Field(default=None, ge=1, le=65_535)
    failure_mode: Literal["FailOpen", "FailClose"] = "FailClose"
    flags: dict[str, str | int | float | bool] = {}
    config: dict[str, Any] | None = None


class Route(Model):
    """How the deployment is reached: always under `/<namespace>/deployments/<name>/`, if enabled."""

    enabled: bool = True
    hostnames: Annotated[tuple[Hostname, ...], Field(max_length=16)] = ()
    headers: Annotated[dict[str, str], AfterValidator(_http)] = {}


class ModelDeploymentSpec(Model):
    replicas: int = Field(ge=0, le=10_000)
    cluster_selector: LabelSelector = LabelSelector()
    node_selector: NodeSelector | None = None
    tolerations: tuple[Toleration, ...] = ()
    engine: Engine = Engine()
    workers: Workers
    prefill: NotYetOffered = None
    endpoint_picker: EndpointPicker = EndpointPicker()
    route: Route = Route()
    rollout: Literal["DeleteFirst", "Surge"] = "DeleteFirst"
    plugins: tuple[PluginSpec, ...] = ()


class ModelDeployment(Model):
    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    kind: Literal["ModelDeployment"] = "ModelDeployment"
    metadata: NamespacedMetadata
    spec: ModelDeploymentSpec
