"""Metrics of vLLM.

Read from vllm/v1/metrics/loggers.py, perf.py, vllm/v1/spec_decode/metrics.py, vllm/v1/kv_offload, vllm/v1/
simple_kv_offload/metrics.py, vllm/parser/metrics.py, vllm/entrypoints/*/*/metrics.py and the connectors below
vllm/distributed/kv_transfer/kv_connector/v1, in the package of version 0.32.0 (2026-11-24). What went and
what came: the same files of 0.9.3, 0.10.1.1, 0.11.1, 0.12.0, 0.18.0 and 0.21.0, in the packages for TPUs
(vllm-tpu, which has vLLM's own sources), with vllm#18354, #24110, #29330 and #15458. Metrics that are
deprecated are hidden one version later, unless `--show-hidden-metrics-for-version` shows them, and removed
after another (https://docs.vllm.ai/en/stable/usage/metrics/).
"""

from inferfleet.profiles.metrics.values import EngineMetrics, Old, named

_USAGE = "kv_cache_usage_perc"

VLLM = EngineMetrics(
    prefix="vllm:",
    prefixed=True,
    # `create_metric_per_engine` of vllm/v1/metrics/utils.py.
    per_copy=True,
    read="0.32.0",
    example="vllm:num_requests_waiting",
    gauges={
        **dict.fromkeys(
            named(
                "vllm:",
                """
                hisparse_pending_page_transfers kv_offload_tiering_active_cascade_jobs
                kv_offload_tiering_active_promotion_jobs
                kv_offload_tiering_backpressure_store_latency_ema num_requests_kv_fetch_by_stage
                num_requests_running num_requests_waiting num_requests_waiting_by_reason
                rl_weight_update_operations_in_flight simple_kv_offload_pending_store_blocks
                simple_kv_offload_used_blocks sleep_mode_operations_in_flight websocket_connections_active
                """,
            )
        ),
        # "1 means 100 percent usage", or a fraction by their documentation.
        **dict.fromkeys(
            named(
                "vllm:",
                """
                hisparse_host_cache_usage_perc kv_cache_usage_perc kv_offload_cpu_cache_read_usage_perc
                kv_offload_cpu_cache_usage_perc kv_offload_cpu_cache_write_usage_perc
                kv_offload_tiering_primary_read_usage_perc kv_offload_tiering_primary_write_usage_perc
                """,
            ),
            1.0,
        ),
    },
    counters=named(
        "vllm:",
        """
        admission_rejections corrupted_requests diffusion_num_canvas_positions
        diffusion_num_committed_tokens diffusion_num_denoising_steps estimated_flops_per_gpu
        estimated_read_bytes_per_gpu estimated_write_bytes_per_gpu external_prefix_cache_hits
        external_prefix_cache_queries generation_tokens gpu_prefix_cache_hits gpu_prefix_cache_queries
        hf3fs_num_failed_load hf3fs_num_failed_save hisparse_cache_hits hisparse_cache_misses
        hisparse_host_to_device_bytes kv_offload_allocation_failure kv_offload_load_bytes
        kv_offload_load_time kv_offload_store_bytes kv_offload_store_time kv_offload_stores_skipped
        kv_offload_tiering_backpressure_blocks_dropped kv_offload_tiering_backpressure_stores_dropped
        kv_offload_tiering_cascade_job_failures kv_offload_tiering_chunk_hits
        kv_offload_tiering_chunk_queries kv_offload_tiering_promotion_allocation_failures
        kv_offload_tiering_promotion_job_failures kv_offload_tiering_read_bytes
        kv_offload_tiering_read_time kv_offload_tiering_write_bytes kv_offload_tiering_write_time
        kv_offload_total_bytes kv_offload_total_time mm_cache_hits mm_cache_queries
        mooncake_store_operation mooncake_store_operation_bytes mooncake_store_operation_failed_keys
        mooncake_store_operation_keys nixl_num_failed_notifications nixl_num_failed_transfers
        nixl_num_kv_expired_reqs nixl_num_notifications_after_expiry num_preemptions prefix_cache_hits
        prefix_cache_queries prompt_tokens prompt_tokens_by_source prompt_tokens_cached
        prompt_tokens_cached_by_source prompt_tokens_recomputed request_success
        simple_kv_offload_load_blocks simple_kv_offload_save_outcomes spec_decode_num_accepted_tokens
        spec_decode_num_accepted_tokens_per_pos spec_decode_num_draft_tokens spec_decode_num_drafts
        tool_call_parser_invocations watermark_requests websocket_connections
        """,
    ),
    histograms=named(
        "vllm:",
        """
        e2e_request_latency_seconds hf3fs_load_duration_seconds hf3fs_save_duration_seconds
        hisparse_host_block_idle_before_evict_seconds hisparse_host_block_lifetime_seconds
        hisparse_host_block_reuse_gap_seconds inter_token_latency_seconds iteration_tokens_total
        kv_block_idle_before_evict_seconds kv_block_lifetime_seconds kv_block_reuse_gap_seconds
        kv_offload_cpu_allocation_size kv_offload_load_size kv_offload_lookup_async_delay_seconds
        kv_offload_lookup_sync_delay_seconds kv_offload_size kv_offload_store_size
        kv_offload_tiering_lookup_async_delay_seconds kv_offload_tiering_lookup_sync_delay_seconds
        mooncake_store_operation_time_seconds nixl_bytes_transferred nixl_num_descriptors
        nixl_post_time_seconds nixl_xfer_time_seconds request_decode_time_seconds
        request_generation_tokens request_inference_time_seconds request_max_num_generation_tokens
        request_num_preemptions request_params_max_tokens request_params_n
        request_prefill_kv_computed_tokens request_prefill_time_seconds request_prompt_tokens
        request_queue_time_seconds request_time_per_output_token_seconds
        rl_weight_update_operation_duration_seconds sleep_mode_operation_duration_seconds
        time_per_output_token_seconds time_to_first_token_seconds websocket_connection_duration_seconds
        """,
    ),
    # The value of lora_requests_info is the time at which it was set, that of the other infos is 1.
    fixed=named(
        "vllm:",
        "cache_config_info engine_sleep_state kv_offload_config_info lora_requests_info "
        "simple_kv_offload_info",
    ),
    old={
        "vllm:gpu_cache_usage_perc": Old((0, 11, 0), (0, 12, 0), f"vllm:{_USAGE}"),
        # Of the engine before V1; 0.10.1.1 has none of them.
        "vllm:cpu_cache_usage_perc": Old((0, 9, 0), (0, 10, 1), f"vllm:{_USAGE}"),
        "vllm:cpu_prefix_cache_hit_rate": Old((0, 9, 0), (0, 10, 1)),
        "vllm:gpu_prefix_cache_hit_rate": Old((0, 9, 0), (0, 10, 1)),
        "vllm:num_requests_swapped": Old((0, 9, 0), (0, 10, 1), "vllm:num_requests_waiting"),
        "vllm:spec_decode_draft_acceptance_rate": Old((0, 10, 1), (0, 10, 1)),
        "vllm:spec_decode_efficiency": Old((0, 10, 1), (0, 10, 1)),
    },
    lacking={
        # loggers.py of 0.11.1: "Deprecated in 0.9.2 - Renamed as vllm:kv_cache_usage_perc".
        f"vllm:{_USAGE}": (0, 9, 1),
        "vllm:num_requests_waiting_by_reason": (0, 18, 0),
        "vllm:num_requests_kv_fetch_by_stage": (0, 26, 0),
    },
)
