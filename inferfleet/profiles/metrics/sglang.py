"""Metrics of SGLang.

Read from python/sglang/srt/observability/metrics_collector.py, http_request_metrics.py, cpu_monitor.py and
func_timer.py, and srt/disaggregation, in the package of version 0.5.23 (2026-11-24); shares are those that
metrics_reporter.py below srt/managers/scheduler_components divides. What went: srt/metrics/collector.py of
0.5.6. Between the two, nothing says which version was the last; nor do image tags tell the version, so names
that went are warned of, and no more.
"""

from inferfleet.profiles.metrics.values import EngineMetrics, Old, named

_GONE = (0, 5, 23)
_HISTOGRAM = Old(_GONE, _GONE, histogram=True)

SGLANG = EngineMetrics(
    prefix="sglang:",
    prefixed=True,
    read="0.5.23",
    example="sglang:num_queue_reqs",
    gauges={
        **dict.fromkeys(
            named(
                "sglang:",
                """
                decode_sum_seq_lens encoder_cache_entries encoder_cache_size_mb encoder_dp_pending_requests
                gen_throughput hicache_host_mamba_used_states hicache_host_used_tokens
                http_requests_active kv_available_tokens kv_evictable_tokens kv_used_tokens
                lora_pool_slots_used mamba_available_tokens mamba_evictable_tokens mamba_used_tokens
                new_token_ratio num_decode_deferred_kv_release_reqs num_decode_host_receive_queue_reqs
                num_decode_prealloc_queue_reqs num_decode_transfer_queue_reqs num_grammar_queue_reqs
                num_paused_reqs num_prefill_bootstrap_queue_reqs num_prefill_inflight_queue_reqs
                num_queue_reqs num_retracted_reqs num_running_reqs num_streaming_sessions
                num_unique_running_routing_keys num_used_tokens pending_prealloc_token_usage
                routing_key_all_req_count routing_key_running_req_count routing_keys_active
                spec_accept_length spec_block_accept_length spec_cap_length spec_num_draft_tokens
                spec_num_steps streaming_session_held_tokens swa_available_tokens swa_evictable_tokens
                swa_used_tokens utilization
                """,
            )
        ),
        **dict.fromkeys(
            named(
                "sglang:",
                """
                cache_hit_rate full_token_usage lora_pool_utilization mamba_usage
                prealloc_full_token_usage prealloc_swa_token_usage spec_accept_rate swa_token_usage
                token_usage
                """,
            ),
            1.0,
        ),
        # A percentage: min(gpu_ns / wall_ns * 100, 100).
        "sglang:fwd_occupancy": 100.0,
    },
    counters=named(
        "sglang:",
        """
        backuped_tokens cached_tokens cuda_graph_passes decode_deferred_kv_release dp_attention_pairs
        dp_attention_steps dp_attention_tokens dp_cooperation_forward_execution_seconds
        dp_cooperation_realtime_tokens encoder_cache_evictions encoder_cache_hit_files
        encoder_cache_hit_tokens encoder_cache_total_files encoder_cache_total_tokens encoder_requests
        encoder_requests_received estimated_flops_per_gpu estimated_read_bytes_per_gpu
        estimated_write_bytes_per_gpu evicted_tokens failed_session_recoveries forward_execution_seconds
        generation_tokens hicache_backup_bytes hicache_backup_dropped_tokens hicache_backup_tokens
        hicache_dropped_tokens hicache_prefetch_aux_alloc_failed_tokens http_requests http_responses
        load_back_bytes load_back_tokens num_aborted_requests num_bootstrap_failed_reqs
        num_decode_host_receive_reqs num_grammar num_grammar_aborted num_grammar_cache_hit
        num_grammar_timeout num_prefill_retries num_requests num_retracted_input_tokens
        num_retracted_output_tokens num_retracted_requests num_so_requests num_transfer_failed_reqs
        prefetched_tokens prefill_delayer_outcomes prefill_effective_tokens process_cpu_seconds
        prompt_tokens realtime_tokens scheduler_idle_seconds scheduler_process_cpu_seconds
        scheduler_stage_seconds spec_verify_calls storage_prefetch_deferred_tokens
        storage_prefetch_hit_tokens storage_prefetch_unfulfilled_tokens
        """,
    ),
    histograms=named(
        "sglang:",
        """
        backup_bandwidth backup_pgs decode_deferred_kv_release_seconds dp_attention_sync_wait_seconds
        dp_attention_token_imbalance_ratio e2e_request_latency_seconds encoder_mm_items_per_batch
        encoder_mm_items_per_request encoder_model_forward_seconds encoder_preprocess_seconds
        encoder_queue_wait_seconds encoder_request_e2e_latency_seconds encoder_transfer_seconds
        eplb_gpu_physical_count eviction_duration_seconds func_latency_seconds
        generation_tokens_histogram get_loads_duration_seconds grammar_compilation_time_seconds
        grammar_ebnf_size grammar_schema_count grammar_tree_traversal_time_avg
        grammar_tree_traversal_time_max hicache_backup_duration_seconds inter_token_latency_seconds
        kv_transfer_total_mb load_back_duration_seconds per_stage_req_latency_seconds prefetch_bandwidth
        prefetch_pgs prefill_delayer_wait_forward_passes prefill_delayer_wait_seconds
        prompt_tokens_histogram queue_time_seconds request_time_per_output_token_seconds
        time_to_first_token_seconds
        uncached_prompt_tokens_histogram
        """,
    ),
    bare_summaries=named("sglang:", "eplb_balancedness"),
    fixed=named(
        "sglang:",
        """
        cache_config_info context_len graph_memory_usage_gb hicache_host_mamba_total_states
        hicache_host_total_tokens is_cuda_graph kv_cache_memory_usage_gb lora_pool_slots_total
        max_running_requests_under_SLO max_total_num_tokens max_total_num_tokens_swa num_pages page_size
        startup_available_gpu_memory_gb startup_cuda_graph_time_seconds
        startup_latency_breakdown_seconds_max startup_time_seconds weight_load_duration_seconds
        weight_memory_usage_gb
        """,
    ),
    # Its GaugeHistogram is a gauge with a label for each bucket (srt/utils/gauge_histogram.py).
    mixed=dict.fromkeys(named("sglang:", "routing_key_all_req_count routing_key_running_req_count"), "le"),
    old={
        "sglang:engine_load_weights_time": Old(_GONE, _GONE),
        "sglang:engine_startup_time": Old(_GONE, _GONE),
        "sglang:kv_transfer_alloc_ms": _HISTOGRAM,
        "sglang:kv_transfer_bootstrap_ms": _HISTOGRAM,
        "sglang:kv_transfer_latency_ms": _HISTOGRAM,
        "sglang:kv_transfer_speed_gb_s": _HISTOGRAM,
        "sglang:num_prefill_prealloc_queue_reqs": Old(_GONE, _GONE),
        "sglang:num_running_reqs_offline_batch": Old(_GONE, _GONE, "sglang:num_running_reqs"),
    },
)
