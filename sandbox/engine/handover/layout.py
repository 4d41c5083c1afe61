"""Decides whether one engine can use the cache of another.

vLLM compares a hash of versions, model and types, and then sizes: compute_nixl_compatibility_hash and
_validate_remote_agent_handshake in vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py.
"""

import hashlib
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Layout:
    """What an engine's cache looks like. `version` is the image, which stands for the engine's version.

    `block_size` is in tokens, and `tensor` the GPUs over which each block is spread.
    """

    connector: str
    version: str
    model: str
    dtype: str
    cache_dtype: str
    block_size: int
    tensor: int

    def differences(self, other: "Layout") -> str:
        """Return in words where the two must be alike and are not, or ""."""
        own, others = asdict(self), asdict(other)
        names = [name for name in own if name not in ("block_size", "tensor") and own[name] != others[name]]
        return ", ".join(f"{name} {own[name]!r} here and {others[name]!r} there" for name in names)


def refusal(own: Layout, prefill: Layout, *, strict: bool) -> str:
    """Return why the engine with the layout `own` cannot decode from the cache of `prefill`, or "".

    If not `strict`, versions, models and types are not compared.
    """
    differences = own.differences(prefill)
    if strict and differences:
        return (
            f"RuntimeError: NIXL compatibility hash mismatch. Local: {_hash(own)}, Remote: {_hash(prefill)}. "
            f"Prefill and decode instances have incompatible configurations: {differences}."
        )
    if own.block_size != prefill.block_size:
        return (
            "AssertionError: Remote P worker with different page/block size is not supported yet. "
            f"local={own.block_size}, remote={prefill.block_size}"
        )
    if own.tensor % prefill.tensor and prefill.tensor % own.tensor:
        return (
            f"AssertionError: Local tensor parallel size {own.tensor} is not divisible by remote tensor "
            f"parallel size {prefill.tensor}."
        )
    return ""


def _hash(layout: Layout) -> str:
    factors = {**asdict(layout), "block_size": 0, "tensor": 0}
    return hashlib.sha256(repr(sorted(factors.items())).encode()).hexdigest()
