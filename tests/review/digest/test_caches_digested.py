"""What a digest says of weights: which caches change, and which deployments wait for theirs."""

from typing import Any

from documents import API, Document
from small_sides import STACK, head, l4, model, place, standing

from inferfleet.review.digest.comparison import stack_digest
from inferfleet.review.digest.values import DocumentChange, FieldChange, StackDigest

FIRST, SECOND = "1" * 40, "2" * 40


def _cache(revision: str = FIRST) -> Document:
    return {
        "apiVersion": API,
        "kind": "ModelCache",
        "metadata": {"name": "qwen3", "namespace": "ml"},
        "spec": {
            "source": {"huggingFace": {"repository": "Qwen/Qwen3-8B", "revision": revision}},
            "size": "20Gi",
            "to": {"claim": {"storageClassName": "rwx"}},
        },
    }


def _chat(**spec: Any) -> Document:
    made = model(**spec)
    made["spec"]["engine"] = {"model": {"cache": "qwen3"}}
    del made["spec"]["workers"]["template"]
    return made


def _changed(*after: Document) -> StackDigest:
    base = standing(l4(), place("east"), _cache(), _chat())
    return stack_digest(STACK, base, head(base, l4(), place("east"), *after))


_REVISION = FieldChange(
    "spec.source.huggingFace.revision", "changed", f'"{FIRST}"', f'"{SECOND}"', shown=True
)


def _notices(digest: StackDigest) -> list[str]:
    return [problem.what for problem in digest.problems if "weights of" in problem.what]


def test_another_commit_is_another_claim_and_job_and_is_fetched_first() -> None:
    digest = _changed(_cache(SECOND), _chat())
    assert digest.written[0] == DocumentChange(
        "ModelCache",
        "ml/qwen3",
        "changed",
        (_REVISION,),
    )
    assert sorted(
        f"{change.operation} {change.resource.partition(' ')[0]}" for change in digest.resources
    ) == [
        "create Job",
        "create PersistentVolumeClaim",
        "delete Job",
        "update Deployment",
    ]
    assert _notices(digest) == [
        "ml/qwen loads weights of ModelCache ml/qwen3 (20Gi) on cluster east for the first time: an update "
        "fetches them, and where replicas of it run already, these change in an update after that"
    ]


def test_what_stays_the_same_is_not_told() -> None:
    assert _notices(_changed(_cache(), _chat(replicas=2))) == []
