"""llm-d-router 0.10: where the endpoint picker lives since it left Gateway API Inference Extension.

From its options, operations document and charts; the way to prefill pods from
pkg/epp/framework/plugins/scheduling/profilehandler/disagg, of v0.10.0. Not run by any test here.
"""

from inferfleet.tables import proxy
from inferfleet.tables.profile import Phases, Profile

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
    proxy=proxy.ROUTER_0_10,
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
