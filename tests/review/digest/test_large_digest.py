"""A change of 300 clusters: short enough for a comment, and little work beside the plans of both sides."""

from digested import loaded, side
from documents import Document, cluster
from small_sides import PRICE, l4, model
from work import counted_calls

from inferfleet.cli.verbs.digest_markdown import MOST, markdown
from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.values import Digest

CLUSTERS, MODELS = 300, 100
NEXT = "docker.io/vllm/vllm-openai:v0.31.0"


def _fleet(*, edited: bool) -> list[Document]:
    """Every tenth cluster is drained, all have a node more, and every model has another image."""
    clusters = [
        cluster(
            f"c{number:03}",
            pools={"l4": ("l4", 2 + edited)},
            state="drained" if edited and number % 10 == 0 else "active",
        )
        for number in range(CLUSTERS)
    ]
    image = {"image": NEXT} if edited else {}
    return [l4(PRICE), *clusters, *(model(f"m{number:03}", replicas=4, **image) for number in range(MODELS))]


def test_a_change_of_300_clusters_fits_into_a_comment() -> None:
    base = side(loaded(_fleet(edited=False), "prod"))
    documents = loaded(_fleet(edited=True), "prod")
    head, planned = counted_calls(lambda: side(documents, base=base))
    stack, comparing = counted_calls(lambda: stack_digest("prod", base, head))
    text, writing = counted_calls(
        lambda: markdown(Digest("0" * 40, "1" * 40, "", False, "", (), 0, (), (stack,)))
    )
    assert 0.8 * MOST < len(text.encode()) <= MOST
    assert (len(stack.models), len(stack.pools), len(stack.drains)) == (MODELS, CLUSTERS, CLUSTERS // 10)
    assert comparing + writing < planned
