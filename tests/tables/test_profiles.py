"""The table of profiles: complete and consistent."""

import re

import pytest
from pydantic import ValidationError

from inferfleet.documents.kinds.inference_cluster import Serving
from inferfleet.tables.engines import EngineType, engine
from inferfleet.tables.pickers import Profile, names, profile

PROFILES = [profile(name) for name in names()]


def test_the_default_profile_is_the_first() -> None:
    assert names() == ("gie-1.5", "router-0.10", "scheduler-0.7")
    assert Serving.model_fields["profile"].default == "gie-1.5"


def test_pickers_and_proxies_of_llm_d_router_are_named_by_their_digests() -> None:
    row = profile("router-0.10")
    assert row.proxy is not None
    assert [image.partition("@sha256:")[0] for image in (row.epp_image, row.proxy.image)] == [
        "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0",
        "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0",
    ]
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", image) for image in (row.epp_image, row.proxy.image))


@pytest.mark.parametrize("images", [7, {"engine": 7}, {"engine": {"vLLM": 7}}])
def test_images_of_another_form_are_refused(images: object) -> None:
    with pytest.raises(ValidationError):
        Serving.model_validate({"images": images})


def test_a_profile_that_is_not_in_the_table_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        profile("gie-9")


@pytest.mark.parametrize("known", PROFILES, ids=names())
def test_pickers_scrape_less_often_than_metrics_grow_stale(known: Profile) -> None:
    milliseconds = int(known.flags["refresh-metrics-interval"].removesuffix("ms"))
    assert 50 < milliseconds < 200


@pytest.mark.parametrize("engine_type", EngineType.__args__)  # type: ignore[attr-defined]
def test_every_engine_type_a_document_can_name_has_defaults(engine_type: str) -> None:
    assert engine(engine_type).startup == 1800


def test_engines_are_reached_where_their_servers_listen() -> None:
    reached = {
        name: (engine(name).port, engine(name).health_path, engine(name).metrics_path, engine(name).label)
        for name in EngineType.__args__  # type: ignore[attr-defined]
    }
    assert reached == {
        "vLLM": (8000, "/health", "/metrics", "vllm"),
        "SGLang": (30000, "/health", "/metrics", "sglang"),
        "TensorRT-LLM": (8000, "/health", "/prometheus/metrics", "trtllm-serve"),
        "Triton": (8000, "/v2/health/ready", "/metrics", "triton-tensorrt-llm"),
        "Other": (8000, None, "/metrics", "vllm"),
    }
