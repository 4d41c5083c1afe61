"""The messages by which the bench asks a picker, byte for byte, and the metrics that its pods answer with."""

from bench.picker_cluster import page
from bench.picker_streams import body_message, header_message


def test_messages_are_those_of_external_processing() -> None:
    assert header_message(2, {":path": "/v1"}) == (
        b"\x12\x10"  # request_headers
        b"\x0a\x0e"  # headers
        b"\x0a\x0c"  # a HeaderValue
        b"\x0a\x05:path"  # key
        b"\x1a\x03/v1"  # raw_value
    )
    assert body_message(4, b"x" * 200, False) == b"\x22\xcb\x01\x0a\xc8\x01" + b"x" * 200
    assert body_message(5, b"{}", True) == b"\x2a\x06\x0a\x02{}\x10\x01"


def test_pods_have_the_metrics_that_pickers_read_and_as_much_more_as_is_asked() -> None:
    small, large = page(0).decode(), page(40).decode()
    read = [line.partition("{")[0] for line in small.splitlines() if not line.startswith("#")]
    assert read == [
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
        "vllm:kv_cache_usage_perc",
        "vllm:cache_config_info",
    ]
    assert large.startswith(small)
    assert 40 <= len(large) / 1024 < 44
