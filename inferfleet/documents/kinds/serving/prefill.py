"""Prefill apart from decode: workers of their own that read prompts and hand their KV cache on."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from inferfleet.documents.kinds.base import Model
from inferfleet.documents.kinds.pod_template import ResourceRequirements
from inferfleet.documents.kinds.text_rules import IMAGE, Args
from inferfleet.documents.kinds.workers import NodeSelector, Workers
from inferfleet.documents.problems import Mistake, Mistaken
from inferfleet.tables.engines import Connector


def _listed(args: Any) -> Any:
    """Return a list as the tuple that it is held as: below a validator of its own, pydantic takes no list."""
    return tuple(args) if isinstance(args, list) else args


class Decider(Model):
    """Which requests are worth a prefill of their own. All others go to decode pods alone."""

    type: Literal["PrefixBased", "Always"] = "PrefixBased"
    """`PrefixBased` asks how many tokens of the prompt the chosen decode pod does not have in its cache;
    `Always` sends every request to a prefill pod first.
    """
    non_cached_tokens: int | None = Field(default=None, ge=1, le=1_000_000)
    """Tokens of a prompt that are not cached on the decode pod, from which on a prefill pod reads it.
    Default: 16 with `PrefixBased`.
    """

    @model_validator(mode="after")
    def _one_way(self) -> "Decider":
        if self.type == "Always" and self.non_cached_tokens is not None:
            what = "nonCachedTokens is for type PrefixBased, and Always asks for no number"
            step = "Remove nonCachedTokens, or write type: PrefixBased"
            raise Mistaken(Mistake(what, step, ("nonCachedTokens",)))
        return self


class RoutingProxy(Model):
    """The program in decode pods that has a prefill pod read the prompt first, llm-d's routing proxy. It
    takes `engine.port`, and passes requests on to the engine within the pod.
    """

    image: Annotated[str, IMAGE] | None = None
    """Container image of the proxy. Default: the cluster's `serving.images.proxy`, or else that of its
    profile.
    """
    engine_port: int | None = Field(default=None, ge=1, le=65_535)
    """TCP port on which the engine listens behind the proxy, in decode pods; a command of your own has it in
    `INFERFLEET_PORT`. Default: 8200.
    """
    resources: ResourceRequirements | None = None
    """Requests and limits of the proxy's container. Default: none."""
    flags: dict[str, str | int | float | bool] = {}
    """Command-line flags of the proxy, by name without dashes; those that follow from other fields are
    refused, and those for TLS, because gateways, pickers and engines speak plain HTTP. Default: none.
    """


class Prefill(Model):
    """Workers of their own for the prefill phase, beside those of `workers`, which then only decode. Both are
    of one engine, and every prefill worker serves every decode worker of the deployment on its cluster.
    """

    workers: Workers
    """The prefill workers of each replica; with `workers.count` of both, any ratio, such as 5 to 3."""
    node_selector: NodeSelector | None = None
    """Condition on the devices of the pool of prefill workers. Default: that of the deployment."""
    connector: Connector | None = None
    """How KV caches are handed on: `NIXL` (from GPU to GPU), `SharedStorage` (by storage that all pods mount,
    or LMCache), `Mooncake`, or `SGLang` (SGLang's own). Default: `SGLang` for that engine, else `NIXL`.
    """
    options: dict[str, Any] = {}
    """Further keys of the connector's configuration, as its engine knows them, such as
    `kv_connector_extra_config` of vLLM; both roles get them. Default: none.
    """
    image: Annotated[str, IMAGE] | None = None
    """Container image of prefill engines. Default: as for decode."""
    args: Annotated[Args | None, BeforeValidator(_listed)] = None
    """Arguments that are appended to the written command line of prefill engines, in place of `engine.args`.
    Default: `engine.args`.
    """
    decider: Decider = Decider()
    """Which requests are prefilled apart. Default: those with 16 or more tokens that are not cached; with the
    connector `SGLang`, whose decode pods refuse all others, every request.
    """
    proxy: RoutingProxy = RoutingProxy()
    """The routing proxy in decode pods. Default: as the cluster's profile says."""
