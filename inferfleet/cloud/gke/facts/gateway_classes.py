"""Google's GatewayClasses: which of them take InferencePools."""

from collections.abc import Mapping

from inferfleet.cloud.gke.facts.machine import Verdict
from inferfleet.cloud.gke.facts.sources import Source

# Only Google's controller serves classes of such names.
GOOGLES = "gke-l7-"
# Names two types of load balancers, which are the two classes that take pools.
LLM_D = Source("llm-d, GKE gateway", "https://llm-d.ai/docs/dev/resources/gateway/gke", "2026-11-23")
# Whether a class takes InferencePools. What the controller says of the global one: "Bind of InferencePool ...
# failed: Unsupported gateway: gatewayclass gke-l7-global-external-managed does not support inference pools".
# Of classes that are not here no source says anything. Those that take pools are regional.
TAKES_POOLS: Mapping[str, Verdict] = {
    "gke-l7-rilb": "yes",
    "gke-l7-regional-external-managed": "yes",
    "gke-l7-global-external-managed": "no",
}
# Proxies of regional load balancers take their addresses from such a subnetwork.
PROXY_ONLY = Source(
    "Google, proxy-only subnets",
    "https://docs.cloud.google.com/load-balancing/docs/proxy-only-subnets",
    "2026-11-23",
)
# Its controller refuses routes with `timeouts`, which those for other providers have: Accepted is False,
# UnsupportedValue.
NO_TIMEOUTS = Source("kserve/kserve#5311", "https://github.com/kserve/kserve/issues/5311", "2026-03-27")
