"""ModelService: one address over the endpoints it selects, by weight."""

from typing import Annotated, Literal

from pydantic import Field

from inferfleet.api.kinds.base import API_VERSION, LabelSelector, Model, NamespacedMetadata


class ServiceEndpoints(Model):
    """The endpoints of the service's namespace that carry these labels share `weight`."""

    weight: int = Field(default=1, ge=1, le=1_000_000)
    selector: LabelSelector


class ModelServiceSpec(Model):
    endpoints: Annotated[tuple[ServiceEndpoints, ...], Field(min_length=1, max_length=64)]


class ModelService(Model):
    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    kind: Literal["ModelService"] = "ModelService"
    metadata: NamespacedMetadata
    spec: ModelServiceSpec
