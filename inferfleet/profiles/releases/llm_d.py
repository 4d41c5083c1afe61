"""Releases of llm-d: one name stands for the picker, routing proxy, engine and kit that go together.

What is in a release: https://github.com/llm-d/llm-d/releases and, of 0.8,
https://github.com/llm-d/llm-d/issues/1819; the engine by the images of its guides. Read on 2026-11-24.
Digests are those of indexes of images for all platforms, as public repositories have them that run these
releases. Of vLLM's images they name several, and of kit's none, so these are named by their tags.

Earlier releases are no rows, because ghcr.io has their pickers no longer. Of llm-d 0.10 (llm-d-router 0.11)
the source was not at hand, without which nobody can say what its picker takes.
"""

from dataclasses import replace

from inferfleet.profiles import proxy
from inferfleet.profiles.profile import Profile
from inferfleet.profiles.releases.router_0_9 import ROUTER_0_9
from inferfleet.profiles.releases.router_0_10 import ROUTER_0_10

# It is no part of llm-d. It is here because another version restarts pods, as only another row may.
_KIT = "ghcr.io/kitops-ml/kitops:v1.11.0"

# 2026-06-24. The digest of the picker stands in five public repositories that run it, that of the proxy in
# one of them.
LLM_D_0_8 = replace(
    ROUTER_0_9,
    name="llm-d-0.8",
    epp_image="ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.9.0"
    "@sha256:873179822ab0895a37ea09f2112ca39a6ae50a26612561c8bfad7f9a8c5af6f5",
    proxy=replace(
        proxy.ROUTER_0_9,
        image="ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.9.0"
        "@sha256:4cc3f15f254c26df7611e3b92ff7c82f83ad4ecb325de639c9dfb32873c6ce90",
    ),
    read_only_root_filesystem=True,
    engine_images={"vLLM": "docker.io/vllm/vllm-openai:v0.23.0"},
    kit_image=_KIT,
)

# 2026-08-18. The digest of the picker stands in four public repositories, in one with those of its platforms;
# that of the proxy in one.
LLM_D_0_9 = replace(
    ROUTER_0_10,
    name="llm-d-0.9",
    epp_image="ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.10.0"
    "@sha256:2e516fa1310da7be59b82beb1445362139597d6d553ef04d546716abe3aaaa70",
    proxy=replace(
        proxy.ROUTER_0_10,
        image="ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"
        "@sha256:1344adff65f96f76fc00c6003a1c63c1e9bb70f3628307f61f748a89a265b260",
    ),
    read_only_root_filesystem=True,
    engine_images={"vLLM": "docker.io/vllm/vllm-openai:v0.26.0"},
    kit_image=_KIT,
)

RELEASES: tuple[Profile, ...] = (LLM_D_0_8, LLM_D_0_9)
