"""How a cluster serves: its gateway, and what differs from the profile."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from inferfleet.api.document import Model
from inferfleet.api.mistakes import mistaken
from inferfleet.api.text_rules import SUBDOMAIN, Dns1035, InEditors


class GatewayRef(Model):
    """A Gateway that exists and belongs to somebody else."""

    name: Annotated[str, SUBDOMAIN]
    namespace: Annotated[str, Dns1035(63)]


class Gateway(Model):
    """A Gateway of our own making (`className`, listening on `port`), or a reference to one that exists."""

    class_name: Annotated[str, SUBDOMAIN] | None = None
    port: int = Field(default=80, ge=1, le=65_535)
    provider: Literal["gke", "istio", "envoy", "none"] = "none"
    ref: GatewayRef | None = None

    @model_validator(mode="after")
    def _one(self) -> "Gateway":
        if (self.class_name is None) == (self.ref is None):
            raise mistaken(
                "a gateway has exactly one of className (inferfleet makes it) and ref (it exists)",
                "Keep one of them",
            )
        if self.ref and "port" in self.model_fields_set:
            raise mistaken(
                "port is of a gateway that inferfleet makes; one that exists listens where it listens",
                "Remove port",
            )
        return self


class Images(Model):
    epp: str | None = Field(default=None, min_length=1)


class Tracing(Model):
    """Where the endpoint pickers send traces."""

    endpoint: str = Field(min_length=1)
    sampler: str = "parentbased_traceidratio"
    sampler_arg: str = "0.01"


class Scheduler(Model):
    type: Annotated[Literal["None", "Volcano", "KAI", "Kueue"], InEditors({"const": "None"})] = "None"

    @model_validator(mode="after")
    def _offered(self) -> "Scheduler":
        if self.type != "None":
            raise mistaken(f"scheduler {self.type} is not yet offered", "Use None")
        return self


# A public, unauthenticated model endpoint must be asked for, so the default is GKE's internal gateway.
INTERNAL_ON_GKE = Gateway(class_name="gke-l7-rilb", provider="gke")


class Serving(Model):
    """How this cluster serves; what is left out comes from the profile. The gateway's default is for GKE."""

    profile: str = "gie-1.5"
    gateway: Gateway = INTERNAL_ON_GKE
    crds: Literal["Preinstalled"] = "Preinstalled"
    images: Images = Images()
    epp_flags: dict[str, str | int | float | bool] = {}
    metrics_auth: bool = True
    tracing: Tracing | None = None
    scheduler: Scheduler = Scheduler()
