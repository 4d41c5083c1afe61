"""Metrics that engines and endpoint pickers have, as far as the dashboard asks for them, with their sources.

A histogram is named without `_bucket`, `_sum` and `_count`, a counter with its `_total`.
"""

# pkg/epp/metrics/metrics.go of gateway-api-inference-extension v1.5.0 (profiles gie-1.5) and v1.4.0, which is
# the picker of llm-d-inference-scheduler v0.7.1; router-0.10 still has them as deprecated.
GIE = {
    "inference_objective_request_total": "counter",
    "inference_objective_request_error_total": "counter",
    "inference_objective_request_duration_seconds": "histogram",
    "inference_pool_ready_pods": "gauge",
    "inference_pool_average_queue_size": "gauge",
    "inference_extension_scheduler_e2e_duration_seconds": "histogram",
}
# pkg/epp/metrics/llm_d_router_metrics.go of llm-d-router v0.10.0, with the subsystem of
# pkg/common/observability/metrics/metrics.go.
ROUTER = {
    "llm_d_epp_request_total": "counter",
    "llm_d_epp_request_error_total": "counter",
    "llm_d_epp_request_duration_seconds": "histogram",
    "llm_d_epp_ready_endpoints": "gauge",
    "llm_d_epp_average_queue_size": "gauge",
    "llm_d_epp_scheduler_e2e_duration_seconds": "histogram",
}
# vllm/v1/metrics/loggers.py; counters get `_total` from prometheus_client.
VLLM = {
    "vllm:num_requests_running": "gauge",
    "vllm:num_requests_waiting": "gauge",
    "vllm:kv_cache_usage_perc": "gauge",
    "vllm:prefix_cache_hits_total": "counter",
    "vllm:prefix_cache_queries_total": "counter",
    "vllm:num_preemptions_total": "counter",
    "vllm:prompt_tokens_total": "counter",
    "vllm:generation_tokens_total": "counter",
    "vllm:time_to_first_token_seconds": "histogram",
    "vllm:inter_token_latency_seconds": "histogram",
    "vllm:e2e_request_latency_seconds": "histogram",
}
# python/sglang/srt/observability/metrics_collector.py (016d860).
SGLANG = {
    "sglang:num_running_reqs": "gauge",
    "sglang:num_queue_reqs": "gauge",
    "sglang:token_usage": "gauge",
    "sglang:cache_hit_rate": "gauge",
    "sglang:num_retracted_requests_total": "counter",
    "sglang:prompt_tokens_total": "counter",
    "sglang:generation_tokens_total": "counter",
    "sglang:time_to_first_token_seconds": "histogram",
    "sglang:inter_token_latency_seconds": "histogram",
    "sglang:e2e_request_latency_seconds": "histogram",
}
KNOWN = GIE | ROUTER | VLLM | SGLANG
