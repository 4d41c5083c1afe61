"""Metrics of NVIDIA's engines: TensorRT-LLM by itself, and Triton.

TensorRT-LLM: tensorrt_llm/metrics/collector.py and batch_metrics.py of NVIDIA/TensorRT-LLM at 050f80de (read
2026-11-24); older versions have fewer. Triton: src/metrics.cc of triton-inference-server/core at 73aad7c, and
the names of its TensorRT-LLM backend as endpoint pickers read them. Backends of Triton have metrics of their
own, under any name.
"""

from inferfleet.profiles.metrics.values import EngineMetrics, named

TENSORRT_LLM = EngineMetrics(
    prefix="trtllm_",
    read="commit 050f80de",
    example="trtllm_num_requests_waiting",
    gauges={
        **dict.fromkeys(
            named(
                "trtllm_",
                """
                avg_decoded_tokens_per_iter cpu_memory_usage_bytes gpu_memory_usage_bytes
                iteration_latency_seconds kv_cache_free_blocks kv_cache_used_blocks num_context_requests
                num_generation_requests num_paused_requests num_requests_running num_requests_waiting
                num_scheduled_requests pinned_memory_usage_bytes scheduled_batch_size
                spec_decode_acceptance_length spec_decode_draft_overhead total_context_tokens
                """,
            )
        ),
        **dict.fromkeys(
            named(
                "trtllm_",
                "kv_cache_hit_rate kv_cache_host_utilization kv_cache_iter_reuse_rate kv_cache_utilization "
                "prefill_batch_occupancy",
            ),
            1.0,
        ),
    },
    counters=named(
        "trtllm_",
        """
        generation_tokens kv_cache_disk_prefetch_blocks kv_cache_gen_alloc_blocks
        kv_cache_intra_device_copy_bytes kv_cache_iter_full_reused_blocks kv_cache_iter_missed_blocks
        kv_cache_iter_partial_reused_blocks kv_cache_iter_reused_blocks kv_cache_missed_blocks
        kv_cache_offload_bytes kv_cache_onboard_bytes kv_cache_reused_blocks num_requests_completed
        prompt_cache_hit_tokens prompt_cached_tokens prompt_tokens request_error request_success
        spec_decode_accepted_tokens spec_decode_drafted_tokens spec_decode_num_accepted_tokens
        spec_decode_num_draft_tokens
        """,
    ),
    histograms=named(
        "trtllm_",
        """
        e2e_request_latency_seconds generation_perplexity prefill_batch_tokens prefill_perplexity
        prompt_cached_tokens_per_request request_decode_time_seconds request_inference_time_seconds
        request_prefill_time_seconds request_queue_time_seconds time_per_output_token_seconds
        time_to_first_token_seconds
        """,
    ),
    fixed=named(
        "trtllm_",
        """
        kv_cache_config_info kv_cache_max_blocks kv_cache_tokens_per_block max_batch_size_runtime
        max_batch_size_static max_num_active_requests max_num_tokens_runtime model_config_info
        parallel_config_info speculative_config_info
        """,
    ),
)

TRITON = EngineMetrics(
    prefix="nv_",
    read="commit 73aad7c",
    others="nv_trt_llm_",
    example="nv_inference_pending_request_count",
    gauges={
        **dict.fromkeys(
            named(
                "nv_",
                "cpu_memory_used_bytes gpu_memory_used_bytes gpu_power_usage inference_pending_request_count "
                "pinned_memory_pool_used_bytes trt_llm_kv_cache_block_metrics trt_llm_request_metrics",
            )
        ),
        "nv_cpu_utilization": 1.0,
        "nv_gpu_utilization": 1.0,
    },
    counters=named(
        "nv_",
        """
        cache_hit_duration_per_model cache_miss_duration_per_model cache_num_hits_per_model
        cache_num_misses_per_model energy_consumption inference_compute_infer_duration_us
        inference_compute_input_duration_us inference_compute_output_duration_us inference_count
        inference_exec_count inference_queue_duration_us inference_request_duration_us
        inference_request_failure inference_request_success
        """,
    ),
    histograms=named("nv_", "inference_first_response_histogram_ms"),
    # Where --metrics-config has summary_latencies=true.
    summaries=named(
        "nv_",
        """
        cache_hit_summary_per_model cache_miss_summary_per_model inference_compute_infer_summary_us
        inference_compute_input_summary_us inference_compute_output_summary_us inference_queue_summary_us
        inference_request_summary_us
        """,
    ),
    fixed=named(
        "nv_",
        "cpu_memory_total_bytes gpu_memory_total_bytes gpu_power_limit model_load_duration_secs "
        "pinned_memory_pool_total_bytes",
    ),
    mixed={
        "nv_trt_llm_kv_cache_block_metrics": "kv_cache_block_type",
        "nv_trt_llm_request_metrics": "request_type",
    },
)
