"""What a decode pod does about caches that it has yet to read from a prefill pod that ends.

vLLM's `--shutdown-timeout` waits for requests and not for their caches: a prefill pod answers when it has
read a prompt, and ends with the cache of it (docs/architecture/advanced/disaggregation/operations-vllm.md of
llm-d/llm-d at 10c22c5a, "Scaling Down Prefill Replicas"; vllm#36666 brought the flag). What decode does then
says `kv_load_failure_policy` in `--kv-transfer-config`: `fail` answers the request with an error, `recompute`
reads its prompt again (docs/features/nixl_connector_usage.md of vLLM at 026c83f9, which recommends the first
so that broken transfers are seen; they are in its metrics with both). `fail` is the default by vllm#34896 of
February 2026, after v0.15.0, which recomputes. Models with several kinds of caches end the whole engine with
both, until vllm#50388.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from inferfleet.api.problems import Mistake
from inferfleet.fleet.engines.flags import flags_of
from inferfleet.fleet.engines.kv_transfer import TRANSFER, canonical, transfer_of
from inferfleet.fleet.engines.words import command_of
from inferfleet.fleet.roles import DECODE
from inferfleet.profiles.engines import EngineDefaults
from inferfleet.profiles.images import Version
from inferfleet.profiles.kv_transfer import version_for_args, version_of

_POLICY, _RECOMPUTE = "kv_load_failure_policy", "recompute"
_FAILS_SINCE: Version = (0, 16, 0)


def with_policy(config: str, way: str, role: str, image: str | None) -> str:
    """Return the value of `--kv-transfer-config` with the policy for lost caches, where the image's version
    is known to fail without it. Other pods than those of decode, and other ways than NIXL, have it as it is.
    """
    version = version_for_args(image)
    if way != "NIXL" or role != DECODE or version is None or version < _FAILS_SINCE:
        return config
    return canonical(json.loads(config) | {_POLICY: _RECOMPUTE})


def lost_cache_mistakes(
    spec: Mapping[str, Any], table: EngineDefaults, *, image: str | None
) -> Iterator[Mistake]:
    """Yield a decode pod of NIXL that leaves open what becomes of caches that end with their prefill pod."""
    command = command_of(spec)
    transfer = transfer_of(command, flags_of(command, table))
    version = version_of(image)
    if transfer is None or transfer.config is None or _POLICY in transfer.config:
        return
    if version is not None and version < _FAILS_SINCE:
        return
    yield Mistake(
        "a prefill pod that ends takes the caches with it that this pod has yet to read, whatever its "
        "--shutdown-timeout, and vLLM answers their requests with an error",
        f'Add "{_POLICY}": "{_RECOMPUTE}" to {TRANSFER}, with which this pod reads those prompts itself, or '
        '"fail" to keep the errors',
        transfer.at,
    )
