"""ModelService: one address over the endpoints it selects, by weight."""

from typing import Annotated, Literal

from pydantic import Field

from inferfleet.documents.kinds.base import API_VERSION, LabelSelector, Model, NamespacedMetadata
from inferfleet.documents.kinds.serving.route import RouteForm


class ServiceEndpoints(Model):
    """Endpoints that share one weight."""

    weight: int = Field(default=1, ge=1, le=1_000_000)
    """Share of the traffic, relative to the other entries. On each cluster it is split over the selected
    endpoints in proportion to their replicas there; an entry without endpoints on a cluster gets nothing
    there.
    """
    selector: LabelSelector
    """Selects endpoints of the service's namespace by the labels of their deployment and their cluster.
    `inferfleet.dev/deployment` and `inferfleet.dev/cluster` are among them.
    """


class ModelServiceSpec(Model):
    """What a ModelService routes to."""

    endpoints: Annotated[tuple[ServiceEndpoints, ...], Field(min_length=1, max_length=64)]
    """Groups of endpoints and their weights. Each cluster with at least one of them gets a route under
    `/<namespace>/<service>/`, unless `route` says otherwise.
    """
    route: RouteForm = RouteForm()
    """Which requests are for the service. Default: those under `/<namespace>/<service>/` for all hosts, with
    the paths of its deployments' engines.
    """


class ModelService(Model):
    """One address over the endpoints it selects, with traffic split by weight."""

    api_version: Literal["inferfleet.dev/v1alpha1"] = API_VERSION
    """Version of the document format."""
    kind: Literal["ModelService"] = "ModelService"
    """Kind of the document."""
    metadata: NamespacedMetadata
    """Name, namespace and labels of the service."""
    spec: ModelServiceSpec
    """What the service routes to."""
