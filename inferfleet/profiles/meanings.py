"""What flags of engines say, in one word for all engines: the words of the tables in `profiles.engines`."""

from typing import Literal

# The field whose value a flag of an engine repeats: one of the topology, or the engine's port.
Meaning = Literal["tensor", "pipeline", "data", "dataLocal", "port"]
# What a flag says of the pods of one worker. `nodes` and `nodeRank` count pods, `master` (or `init`, with its
# port) is where they meet; `copyRank` is the only copy of a pod, `startRank` the first of several, and copies
# meet at `copiesAddress` and `rpcPort`. A `headless` pod has no API server. With `hybrid`, `external` and
# `multiPort` every pod has one, and something outside chooses among them.
GroupMeaning = Literal[
    "nodes",
    "nodeRank",
    "master",
    "masterPort",
    "init",
    "copyRank",
    "startRank",
    "copiesAddress",
    "rpcPort",
    "copiesBackend",
    "backend",
    "headless",
    "hybrid",
    "external",
    "multiPort",
    "supervisorPort",
    "expert",
    "expertSize",
]
# What all pods of a worker have to be told alike: they hold parts of one model, and of one cache.
ModelMeaning = Literal["model", "servedModel", "dtype", "maxLength", "cacheDtype"]
# What else decides what is in a KV cache, and where it lies: `evenCache` and `hybridCache` turn vLLM's
# manager of caches of several kinds off and on.
CacheMeaning = Literal[
    "revision",
    "quantization",
    "overrides",
    "blockSize",
    "attention",
    "attentionConfig",
    "evenCache",
    "hybridCache",
    "speculation",
    "decodeContext",
    "prefillContext",
]
# How a KV cache is handed on: vLLM's is told by JSON, SGLang's by its mode and its way.
HandoverMeaning = Literal["transfer", "mode", "way"]
# For how many seconds after SIGTERM requests in hand may end.
EndMeaning = Literal["drain"]
AnyMeaning = EndMeaning | Meaning | GroupMeaning | ModelMeaning | CacheMeaning | HandoverMeaning
# Flags without a value.
SWITCHES: frozenset[AnyMeaning] = frozenset(
    ("headless", "hybrid", "external", "multiPort", "expert", "evenCache", "hybridCache")
)
