"""LoRA adapters of an engine: small weights beside those of its model, each under a name of its own."""

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from inferfleet.documents.kinds.base import Name, StrictModel
from inferfleet.documents.kinds.hugging_face import Commit, Repository
from inferfleet.documents.pods.texts import TextRule
from inferfleet.documents.problems import Mistake, Mistaken, mistaken

# The ranks that vLLM takes as the largest (`--max-lora-rank`, MaxLoRARanks in vllm/config/lora.py of 0.32).
_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
# More in one deployment would make a ConfigMap of more than a megabyte, and lists that nobody reads.
MOST_ADAPTERS = 1024
_NAME = TextRule(
    r"[A-Za-z0-9]([-A-Za-z0-9._]{0,61}[A-Za-z0-9])?", "letters, digits and `-`, `_`, `.`, such as poems", 63
)


def _check_rank(rank: int) -> int:
    if rank not in _RANKS:
        step = f"Write one of {', '.join(map(str, _RANKS))}"
        raise mistaken(f"{{field}} {rank} is none that engines take as the largest", step)
    return rank


LargestRank = Annotated[int, AfterValidator(_check_rank)]


class AdapterSource(StrictModel):
    """Where the files of an adapter come from: `adapter_config.json` and safetensors."""

    repository: Repository | None = None
    """Repository of the Hugging Face Hub, such as `ml/poems-lora`; each pod fetches it, with the token of
    `engine.model` if there is one. Either this or `cache` is required.
    """
    revision: Commit | None = None
    """The commit of the repository, 40 hexadecimal digits. Another one takes the place of the old one."""
    cache: Name | None = None
    """Name of a ModelCache in the namespace of the deployment that holds the files: no pod fetches them, and
    another commit of the cache is a roll of the pods.
    """

    @model_validator(mode="after")
    def _check_one_source(self) -> "AdapterSource":
        if (self.repository is None) == (self.cache is None):
            has = "both" if self.cache else "neither"
            what = f"an adapter has a repository or a cache, and this one has {has}"
            raise mistaken(what, "Write one of the two")
        if (self.repository is None) != (self.revision is None):
            if self.revision:
                what, step = "revision of an adapter in a cache is that of the cache", "Remove revision"
                raise Mistaken(Mistake(what, step, ("revision",)))
            what = "revision is missing: without a commit pods of one deployment may have different weights"
            raise Mistaken(Mistake(what, "Add the commit of the repository"))
        return self


class Adapter(StrictModel):
    """A LoRA adapter that pods serve beside their model."""

    name: Annotated[str, _NAME]
    """Name of the adapter. Requests ask for `<model>:<name>`, such as `chat:poems`, where `chat` is the first
    of `engine.servedNames`.
    """
    source: AdapterSource
    """Where its files come from."""
    rank: int = Field(ge=1, le=512)
    """Its rank, `r` in its `adapter_config.json`, at most `engine.maxAdapterRank`."""
