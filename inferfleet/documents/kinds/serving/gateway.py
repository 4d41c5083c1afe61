"""The block `serving.gateway` of a cluster: the Gateway through which its models are reached."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfleet.documents.kinds.base import Model
from inferfleet.documents.kinds.serving.route import HeaderName
from inferfleet.documents.kinds.text_rules import Dns1035
from inferfleet.documents.pods.texts import SUBDOMAIN
from inferfleet.documents.problems import mistaken


class GatewayRef(Model):
    """A Gateway that exists and belongs to somebody else."""

    name: Annotated[str, SUBDOMAIN]
    """Name of the Gateway."""
    namespace: Annotated[str, Dns1035(63)]
    """Namespace of the Gateway."""


class Gateway(Model):
    """The Gateway of a cluster: one that inferfleet creates (`className`), or one that exists (`ref`)."""

    class_name: Annotated[str, SUBDOMAIN] | None = None
    """Name of the GatewayClass for a Gateway that inferfleet creates. Either this or `ref` is required."""
    port: int = Field(default=80, ge=1, le=65_535)
    """TCP port on which the Gateway listens for HTTP; refused with `ref`."""
    provider: Literal["gke", "istio", "envoy", "none"] = "none"
    """Whose controller serves the Gateway: `gke`, which classes of Google's need (`gke-l7-...`), `istio` or
    `envoy` add the objects and annotations that they need beside Gateway and routes. `none` adds nothing.
    """
    ref: GatewayRef | None = None
    """A Gateway that exists. Either this or `className` is required."""
    model_header: HeaderName | None = None
    """Header in which a payload processor of the Gateway writes the model of each request, such as
    `X-Gateway-Model-Name`. Default: there is none, and routes by `model` are refused.
    """
    service_type: Literal["ClusterIP", "LoadBalancer"] = "ClusterIP"
    """Type of the Service of a Gateway that inferfleet creates with provider `istio` or `envoy`; refused with
    others. `ClusterIP` is reached from inside of the cluster alone, `LoadBalancer` gets an address outside,
    which most clouds make public.
    """

    @model_validator(mode="after")
    def _exactly_one(self) -> "Gateway":
        if (self.class_name is None) == (self.ref is None):
            raise mistaken(
                "a gateway has exactly one of className (inferfleet creates it) and ref (it exists)",
                "Keep one of them" if self.ref else "Write one of them",
            )
        if self.ref and "port" in self.model_fields_set:
            raise mistaken(
                "port is for a gateway that inferfleet creates; one that exists has its own listeners",
                "Remove port",
            )
        if "service_type" in self.model_fields_set and (self.ref or self.provider not in ("istio", "envoy")):
            raise mistaken(
                "serviceType is for a gateway that inferfleet creates with provider istio or envoy; that of "
                "others is up to their controller or owner",
                "Remove serviceType",
            )
        return self
