"""Gateway API Inference Extension 1.5: the last release that holds the endpoint picker itself.

Ports, probes and resources: config/charts/epplib of v1.5.0. Lease and watches:
pkg/epp/server/controller_manager.go.
"""

from inferfleet.tables.profile import Profile

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
    # Its openai-parser refuses what has no messages, prompt or input, so all of Triton's own protocol.
    parser_of_any="passthrough-parser",
    # pkg/epp/metrics/metrics.go of v1.5.0.
    pool_metrics=(
        "inference_pool_average_kv_cache_utilization",
        "inference_pool_average_queue_size",
        "inference_pool_average_running_requests",
    ),
)
