"""Caches of weights: what a document may say, and what deployments may name."""

import pytest
from conftest import Load, Problems
from fleet_text import Mistake

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CACHE = f"""\
apiVersion: inferfleet.dev/v1alpha1
kind: ModelCache
metadata: {{name: qwen3, namespace: ml}}
spec:
  source: {{huggingFace: {{repository: Qwen/Qwen3-8B, revision: {COMMIT}}}}}
  size: 20Gi
  to: {{claim: {{storageClassName: rwx}}}}
"""
DEPLOYMENT = """\
---
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: chat, namespace: ml}
spec:
  replicas: 1
  engine: {model: {cache: qwen3}}
  workers: {topology: {tensor: 1}}
"""


def test_a_model_of_a_cache_has_its_repository_and_commit(load_text: Load) -> None:
    model = load_text(CACHE + DEPLOYMENT).deployments["ml/chat"].spec.engine.model
    assert model is not None
    assert (model.repository, model.revision, model.loaded_from) == (
        "Qwen/Qwen3-8B",
        COMMIT,
        "/weights/Qwen3-8B",
    )


def test_engines_of_further_roles_load_from_caches_too(load_text: Load) -> None:
    role = "  roles: {encoder: {engine: {model: {cache: qwen3}}, workers: {topology: {tensor: 1}}}}\n"
    engine = load_text(CACHE + DEPLOYMENT + role).deployments["ml/chat"].spec.roles["encoder"].engine
    assert engine is not None
    assert engine.model is not None
    assert engine.model.loaded_from == "/weights/Qwen3-8B"


def test_a_cache_is_named_from_its_own_namespace(problems_in: Problems) -> None:
    (problem,) = problems_in(CACHE + DEPLOYMENT.replace("namespace: ml", "namespace: other"))
    assert (str(problem.where), problem.path, problem.what, problem.next_step) == (
        "a.yaml:14",
        "spec.engine.model.cache",
        "deployment 'other/chat' loads from ModelCache 'qwen3', which namespace other does not have",
        "Write one beside it",
    )


def test_a_misspelled_cache_is_told_with_those_there_are(mistake: Mistake) -> None:
    _, path, what, step = mistake(CACHE + DEPLOYMENT, "cache: qwen3", "cache: qwen")
    assert path == "spec.engine.model.cache"
    assert what == "deployment 'ml/chat' loads from ModelCache 'qwen', which namespace ml does not have"
    assert "qwen3" in step


@pytest.mark.parametrize(
    ("old", "new", "path", "what"),
    [
        (
            f"revision: {COMMIT}",
            "revision: main",
            "spec.source.huggingFace.revision",
            "revision 'main' is no commit: a branch or tag may be other weights tomorrow, and nobody would "
            "fetch them",
        ),
        (
            "repository: Qwen/Qwen3-8B",
            "repository: Qwen3-8B",
            "spec.source.huggingFace.repository",
            "repository 'Qwen3-8B' is no repository of the Hugging Face Hub",
        ),
        (
            f"revision: {COMMIT}",
            f"revision: {COMMIT}, token: hf_1234",
            "spec.source.huggingFace.token",
            "token is a text, and tokens do not stand in documents",
        ),
        (
            "  size: 20Gi\n",
            "",
            "spec.size",
            "size is missing: all files have to fit into it",
        ),
        ("size: 20Gi", "size: 0", "spec.size", "size 0 must be more than 0"),
        (
            "{storageClassName: rwx}",
            "{name: models}",
            "spec.size",
            "size is for weights that are fetched, and these are there already",
        ),
        (
            "{storageClassName: rwx}",
            "{storageClassName: rwx, name: models}",
            "spec.to.claim",
            "a claim has storageClassName, with which it is made, or the name of one that is there, and this "
            "one has both",
        ),
        (
            "{storageClassName: rwx}",
            "{storageClassName: rwx, folder: qwen}",
            "spec.to.claim.folder",
            "folder is for a claim that somebody filled, and this one is filled by inferfleet",
        ),
        (
            "claim: {storageClassName: rwx}",
            "claim: {storageClassName: rwx}, bucket: {name: weights}",
            "spec.to",
            "weights are kept in a claim, a bucket or an image, and to has claim, bucket",
        ),
        (
            "to: {claim: {storageClassName: rwx}}",
            "to: {bucket: {}}\n  whenRemoved: Delete",
            "spec.whenRemoved",
            "whenRemoved: Delete is for claims that are made, and these weights are kept elsewhere",
        ),
        (
            "claim: {storageClassName: rwx}",
            "claim: {storageClassName: rwx}, node: {}",
            "spec.to.node",
            "node is not offered: nodes that come later would never be filled",
        ),
        (
            f"{{huggingFace: {{repository: Qwen/Qwen3-8B, revision: {COMMIT}}}}}",
            f"{{huggingFace: {{repository: Qwen/Qwen3-8B, revision: {COMMIT}}}, s3: {{}}}}",
            "spec.source.s3",
            "s3 is not offered: weights are fetched from the Hugging Face Hub alone",
        ),
    ],
)
def test_what_a_cache_cannot_be_is_told(mistake: Mistake, old: str, new: str, path: str, what: str) -> None:
    _, told_path, told, _ = mistake(CACHE, old, new)
    assert (told_path, told) == (path, what)


def test_a_folder_of_a_claim_holds_one_cache_s_weights(problems_in: Problems) -> None:
    first = CACHE.replace("  size: 20Gi\n", "").replace(
        "{storageClassName: rwx}", "{name: models, folder: a}"
    )
    second = first.replace("name: qwen3", "name: other").replace("Qwen3-8B", "Qwen3-14B")
    (problem,) = problems_in(f"{first}---\n{second}")
    assert (str(problem.where), problem.path, problem.what) == (
        "a.yaml:13",
        "spec.to.claim",
        "folder a of claim models holds the weights of ModelCache ml/qwen3 by a.yaml:1, which are others",
    )


def test_two_caches_of_the_same_weights_may_name_one_folder(load_text: Load) -> None:
    first = CACHE.replace("  size: 20Gi\n", "").replace("{storageClassName: rwx}", "{name: models}")
    assert len(load_text(f"{first}---\n{first.replace('name: qwen3', 'name: other')}").caches) == 2


def test_a_branch_is_told_with_where_its_commit_stands(mistake: Mistake) -> None:
    *_, step = mistake(CACHE, COMMIT, "main")
    assert step == (
        "Write the 40 digits of its commit, the field `sha` of "
        "https://huggingface.co/api/models/REPOSITORY/revision/main"
    )


@pytest.mark.parametrize(
    ("model", "path", "what"),
    [
        (
            "{cache: qwen3, repository: Qwen/Qwen3-8B}",
            "spec.engine.model",
            "a model has a repository or a cache, and this one has both",
        ),
        (
            "{revision: main}",
            "spec.engine.model",
            "a model has a repository or a cache, and this one has neither",
        ),
        (
            "{cache: qwen3, revision: main}",
            "spec.engine.model.revision",
            "revision of a model in a cache is that of the cache",
        ),
    ],
)
def test_a_model_has_one_source(mistake: Mistake, model: str, path: str, what: str) -> None:
    _, told_path, told, _ = mistake(CACHE + DEPLOYMENT, "{cache: qwen3}", model)
    assert (told_path, told) == (path, what)
