"""Endpoint pickers and their routing proxies, release by release: images, API groups, flags and ports.

Clusters and deployments choose a row by the name of its profile. A row that can be named stays as it is,
because pods restart with it; what changes comes as another row.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ProxyTable:
    """One release of the routing proxy in decode pods."""

    image: str
    engine_port_flag: str
    """The flag that names the engine's port."""
    connectors: Mapping[str, str]
    """Values of `--kv-connector` by the words of documents."""
    flags: Mapping[str, str]
    """Flags that are set unless a document overrides them."""
    own_flags: Mapping[str, str]
    """Flags that follow from documents, with where they say it."""
    tracing_flag: str | None = None
    """The flag by which it traces; one without it always traces."""
    mooncake_port_flag: str | None = None
    """The flag that names Mooncake's port; one without it does not know Mooncake."""


@dataclass(frozen=True)
class Phases:
    """What a picker's config needs besides so that prompts are read by prefill pods: `plugins` before all
    others, and feature `gates`.
    """

    plugins: tuple[str, ...]
    gates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """One release of the endpoint picker. `flags` are set unless a document overrides them."""

    name: str
    epp_image: str
    # The API version of the EndpointPickerConfig that is written for it.
    config_api_version: str
    pool_group: str
    pool_api_version: str
    # Both InferenceObjective and InferenceModelRewrite live in each of these groups. Pickers ask at their
    # start which of them are served, and do without (pkg/epp/server/controller_config.go of every version in
    # the table).
    objective_groups: tuple[str, ...]
    flags: Mapping[str, str]
    grpc_port: int
    health_port: int
    metrics_port: int
    # gRPC health service names the probes ask for: without and with leader election.
    probe_service: str
    liveness_service: str
    readiness_service: str
    # The pod label from which the picker's metrics reader takes the engine's type by default.
    engine_label: str
    # The flag that names another port for engine metrics; None: it is a parameter of metrics-data-source.
    engine_metrics_port_flag: str | None
    # What follows `epp-<namespace>-<pool>` in the name of the Lease by which replicas elect a leader.
    lease_suffix: str
    # The routing proxy that goes with the picker: what one writes into a request, the other reads. None: this
    # picker does not know prefill and decode apart.
    proxy: ProxyTable | None
    # The plugin that reads the metrics of engines, and the gate without which it is not asked (None: always).
    extractor: str = "core-metrics-extractor"
    metrics_gate: str | None = None
    # Parsers of requests that are configured, in their order; (): the picker's own.
    parsers: tuple[str, ...] = ()
    # Of a picker with one parser: paths whose requests that of prompts reads, or below which there are such
    # (it answers all others that have a body with status 400), and the parser that reads none and takes all.
    parsed_paths: re.Pattern[str] | None = None
    parser_of_any: str | None = None
    # Age at which metrics of a pod count as old, so that it counts as full; None: the picker's 200ms.
    metrics_stale_after: str | None = None
    # Gauges of an InferencePool, whose name is their label `name`: averages over its pods.
    pool_metrics: tuple[str, ...] = ()
    # None: this picker does not know prefill and decode apart.
    phases: Phases | None = None
    # Whether it traces requests also where --tracing is false.
    always_traces: bool = False
    # Seconds that a picker gives its streams once it is told to end: the GracefulShutdownTimeout of
    # controller-runtime v0.23.3 (pkg/manager/internal.go), which no flag of GIE changes; --drain-timeout of
    # llm-d-router has the same default.
    stop_seconds: int = 30
    # Whether a picker that is told to end gives its Lease back at once and takes new streams for those
    # seconds, choosing among the pods that it knew by then, and waits for its streams without limit after
    # them (runWithGracefulShutdown in cmd/epp/runner/runner.go of llm-d-router v0.10.0, and serveGRPC in
    # internal/runnable/grpc.go). Otherwise it takes none, and ends with them or after those seconds.
    serves_on: bool = False


# The routing proxy of decode pods by its versions: image, flags, and how it calls the ways to hand KV on.
#
# Flags that follow from documents: pkg/sidecar/proxy/options.go of llm-d-inference-scheduler v0.7.1 and
# llm-d-router v0.10.0. Names of images: .github/workflows/ci-release.yaml of both; they changed after v0.7.1.
# A flag or value that it does not take ends the proxy with exit code 0, and it says which.

# Where the engine of a decode pod listens. llm-d's guides give it this port, and v0.10.0 takes it by default;
# one for all versions, because one command line of an engine serves clusters of several.
ENGINE_PORT = 8200
# Path that it answers itself, as soon as it listens and whatever the engine does.
HEALTH_PATH = "/health"

_OWN = {
    "port": "write spec.engine.port instead",
    "vllm-port": "write spec.prefill.proxy.enginePort instead",
    "kv-connector": "write spec.prefill.connector instead",
    "data-parallel-size": "it follows from the topology",
    "secure-proxy": "gateways, and pods of prefill, speak plain HTTP to it; a service mesh can encrypt "
    "between pods (plugin istio)",
}

PROXY_0_7 = ProxyTable(
    image="ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1",
    engine_port_flag="vllm-port",
    connectors={"NIXL": "nixlv2", "SharedStorage": "shared-storage", "SGLang": "sglang"},
    # Its default is TLS, which nothing that asks it speaks.
    flags={"secure-proxy": "false"},
    # `connector` is an old name of the same.
    own_flags={**_OWN, "connector": _OWN["kv-connector"]},
)

PROXY_0_10 = ProxyTable(
    image="ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"
    "@sha256:1344adff65f96f76fc00c6003a1c63c1e9bb70f3628307f61f748a89a265b260",
    engine_port_flag="model-server-port",
    connectors={
        "NIXL": "nixlv2",
        "SharedStorage": "shared-storage",
        "SGLang": "sglang",
        "Mooncake": "mooncake",
    },
    flags={"secure-proxy": "false"},
    own_flags={
        **_OWN,
        "model-server-port": _OWN["vllm-port"],
        "mooncake-bootstrap-port": "it follows from spec.prefill.connector",
        "tracing": "write serving.tracing of the cluster instead",
    },
    tracing_flag="tracing",
    mooncake_port_flag="mooncake-bootstrap-port",
)


# Gateway API Inference Extension 1.5: the last release that holds the endpoint picker itself.
#
# Ports, probes and resources: config/charts/epplib of v1.5.0. Lease and watches:
# pkg/epp/server/controller_manager.go.

GIE_1_5 = Profile(
    name="gie-1.5",
    epp_image="registry.k8s.io/gateway-api-inference-extension/epp:v1.5.0",
    config_api_version="inference.networking.x-k8s.io/v1alpha1",
    pool_group="inference.networking.k8s.io",
    pool_api_version="inference.networking.k8s.io/v1",
    objective_groups=("inference.networking.x-k8s.io",),
    flags={
        # Its own default is 50ms, which costs 7.5 cores at 100 pods when nobody asks anything. The
        # saturation detector takes metrics older than 200ms for stale, so it must stay below that.
        "refresh-metrics-interval": "150ms",
        "zap-encoder": "json",
    },
    grpc_port=9002,
    health_port=9003,
    metrics_port=9090,
    probe_service="inference-extension",
    liveness_service="liveness",
    readiness_service="readiness",
    engine_label="inference.networking.k8s.io/engine-type",
    engine_metrics_port_flag="model-server-metrics-port",
    lease_suffix=".gateway-api-inference-extension.sigs.k8s.io",
    proxy=None,
    # Its openai-parser knows these by their ends, and wants a `prompt` and a `model` of all others
    # (determineAPITypeFromPath in openai/openai.go below pkg/epp/framework/plugins/requesthandling/parsers of
    # v1.5.0). No parser is asked of requests without a body, as for models (pkg/epp/handlers/request.go).
    parsed_paths=re.compile(
        r"/|.*/v1(/chat)?|.*/(chat/completions|completions|embeddings|responses|conversations|models)"
    ),
    parser_of_any="passthrough-parser",
    # pkg/epp/metrics/metrics.go of v1.5.0.
    pool_metrics=(
        "inference_pool_average_kv_cache_utilization",
        "inference_pool_average_queue_size",
        "inference_pool_average_running_requests",
    ),
)


# llm-d-router 0.10: where the endpoint picker lives since it left Gateway API Inference Extension.
#
# From its options, operations document and charts; the way to prefill pods from
# pkg/epp/framework/plugins/scheduling/profilehandler/disagg, of v0.10.0. Not run by any test here.

ROUTER_0_10 = Profile(
    name="router-0.10",
    # Both digests are those of indexes of images for all platforms, as public repositories have them that run
    # this release: that of the picker stands in four, that of the proxy in one. Read on 2026-11-24.
    epp_image="ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0"
    "@sha256:2e516fa1310da7be59b82beb1445362139597d6d553ef04d546716abe3aaaa70",
    config_api_version="llm-d.ai/v1alpha1",
    pool_group="inference.networking.k8s.io",
    pool_api_version="inference.networking.k8s.io/v1",
    # It still reads the group it came from, unless the CRDs of both are installed.
    objective_groups=("llm-d.ai", "inference.networking.x-k8s.io"),
    # 50ms is also this version's default for scraping, at the same cost as in gie-1.5.
    flags={"refresh-metrics-interval": "150ms", "zap-encoder": "json"},
    grpc_port=9002,
    health_port=9003,
    metrics_port=9090,
    probe_service="inference-extension",
    liveness_service="liveness",
    readiness_service="readiness",
    engine_label="llm-d.ai/engine-type",
    engine_metrics_port_flag=None,
    lease_suffix=".llm-d.ai",
    proxy=PROXY_0_10,
    # pkg/epp/metrics of llm-d-router.
    pool_metrics=(
        "llm_d_epp_average_kv_cache_utilization",
        "llm_d_epp_average_queue_size",
        "llm_d_epp_average_running_requests",
    ),
    # Its defaults, and one that takes what they refuse, such as /v1/rerank (pkg/epp/handlers/parsers.go): the
    # release after v0.10 adds it by itself (llm-d-router#2507).
    parsers=("openai-parser", "anthropic-parser", "vllmhttp-parser", "passthrough-parser"),
    # Four times refresh-metrics-interval: with its own 200ms, a pod that answers late once counts as full.
    metrics_stale_after="600ms",
    # It knows what is cached, which prefix-based-pd-decider asks.
    phases=Phases(plugins=("approx-prefix-cache-producer",)),
    serves_on=True,
)


# llm-d-inference-scheduler 0.7.1: a picker that knows prefill and decode, for the sandbox alone.
#
# The sandbox builds its programs from Go modules, and llm-d-router was none that could be had when that was
# tried. On other clusters nobody can pull the image: since September 2026 ghcr.io refuses every tag of it
# (https://github.com/kserve/kserve/issues/6215, read on 2026-11-24).
#
# It is the picker of Gateway API Inference Extension (GIE) 1.4.0 with llm-d's plugins (go.mod and
# cmd/epp/main.go of v0.7.1), so its flags, ports, health services and Lease are those of GIE:
# pkg/epp/server/options.go, cmd/epp/runner/health.go and pkg/epp/server/controller_manager.go of v1.4.0 say
# the same there as those of v1.5.0. Its image runs as user 65532 and writes no file (Dockerfile.epp).

SCHEDULER_0_7 = replace(
    GIE_1_5,
    name="scheduler-0.7",
    epp_image="ghcr.io/llm-d/llm-d-inference-scheduler:v0.7.1",
    proxy=PROXY_0_7,
    # GIE 1.4 reads requests in the same way, and has no parsers to choose from
    # (pkg/epp/util/request/body.go of v1.4.0).
    parser_of_any=None,
    # pkg/epp/framework/plugins/datalayer/extractor/metrics/factories.go of GIE v1.4.0; without the gate,
    # pkg/epp/backend/metrics reads vLLM's metrics, whatever the engine is.
    extractor="model-server-protocol-metrics",
    metrics_gate="dataLayer",
    phases=Phases(
        # It writes the address of the chosen prefill pod into a header.
        plugins=("disagg-headers-handler",),
        # What plugins learn of a request before it is scheduled; the decider reads it, and without it sends
        # nothing to prefill (pkg/plugins/profile/prefix_based_pd_decider.go).
        gates=("prepareDataPlugins",),
    ),
    # pkg/telemetry/tracing.go: it traces a tenth of all requests, without a collector too.
    always_traces=True,
)


_PROFILES = {profile.name: profile for profile in (GIE_1_5, ROUTER_0_10, SCHEDULER_0_7)}
# GIE 1.5 does not know prefill and decode apart, and is the newer picker for all that is not.
_APART = {GIE_1_5.name: ROUTER_0_10}
_WHOLE = {SCHEDULER_0_7.name: GIE_1_5}
# The profile of clusters that name none.
DEFAULT = GIE_1_5.name
# The profile to choose where something is asked for that another does not have.
NEWEST = ROUTER_0_10.name


def names() -> tuple[str, ...]:
    """Return the names of all profiles, the default first."""
    return tuple(_PROFILES)


def profile(name: str) -> Profile:
    """Return the profile of this name. Raises KeyError for a name that is not in `names()`."""
    return _PROFILES[name]


def picker(name: str, *, disaggregated: bool) -> Profile:
    """Return the row of the endpoint picker and routing proxy of a deployment with this profile, one of
    `names()`.

    `disaggregated` deployments have prefill apart.
    """
    return (_APART if disaggregated else _WHOLE).get(name, _PROFILES[name])
