"""Weights on clusters: the claim and the Job of a cache, and what pods have to load them."""

from inspect import getsource
from typing import Any

import pytest
from small_stack import (
    COMMIT,
    NOTHING,
    Document,
    after,
    cache,
    cluster,
    components,
    deployment,
    find,
    lock,
    made,
    spot,
    stack,
)

from inferfleet.desired import desired
from inferfleet.desired.gate import unfilled_problems
from inferfleet.desired.paused import kept
from inferfleet.desired.transition import Unfilled, unfilled, with_held, with_starting
from inferfleet.desired.values import Desired, Resource
from inferfleet.documents import InvalidDocuments
from inferfleet.fleet.roles import revision
from inferfleet.serving import filling
from inferfleet.serving.metadata import SKIP_AWAIT
from inferfleet.serving.weights import claim

OTHER = "f" * 40
NAME = "qwen3-weights-7b7ac6d0"
WHERE = [
    {"name": "WEIGHTS_VOLUME", "value": "/weights-volume"},
    {"name": "WEIGHTS_REVISION", "value": COMMIT},
]
LOADS = {"model": {"cache": "qwen3"}, "servedNames": []}


def _chat(**spec: object) -> object:
    return deployment("chat", declared=LOADS, **spec)


def test_a_cache_is_a_claim_and_a_job_on_each_of_its_clusters() -> None:
    found = made(
        cache("qwen3", clusterSelector={"matchLabels": {"tier": "prod"}}),
        _labelled("east", tier="prod"),
        cluster("west"),
    )
    assert ("ModelCache", "east/ml/qwen3") in components(found, "east")
    assert components(found, "west") == [("ServingStack", "west")]
    assert find(found, "PersistentVolumeClaim", f"east/ml/{NAME}").manifest == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _metadata(),
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "rwx",
            "resources": {"requests": {"storage": "20Gi"}},
        },
    }


def test_the_job_fetches_once_with_the_token_and_is_not_waited_for() -> None:
    found = made(cache("qwen3", source={"token": {"secretRef": {"name": "hf"}}}), cluster("east"))
    job = find(found, "Job", f"east/ml/{NAME}")
    template = job.manifest["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert job.manifest["metadata"] == _metadata()
    assert job.manifest["spec"]["backoffLimit"] == 1_000_000_000
    assert template["spec"]["restartPolicy"] == "OnFailure"
    assert container["command"] == ["python3", "-c", getsource(filling)]
    assert container["image"] == "docker.io/vllm/vllm-openai:v0.32.0"
    assert container["env"] == [
        {"name": "WEIGHTS_ROOT", "value": "/weights-volume"},
        *WHERE,
        {"name": "WEIGHTS_PART", "value": "/weights-volume/.part"},
        {"name": "WEIGHTS_REPOSITORY", "value": "Qwen/Qwen3-8B"},
        {
            "name": "WEIGHTS_FILES",
            "value": '["*.safetensors", "*.json", "*.jinja", "*.model", "*.tiktoken", "*.txt"]',
        },
        {"name": "WEIGHTS_SIZE", "value": str(20 << 30)},
        {"name": "HF_ENDPOINT", "value": "https://huggingface.co"},
        {"name": "HF_HOME", "value": "/tmp/hf"},
        {"name": "HF_HUB_DISABLE_TELEMETRY", "value": "1"},
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
    ]


def test_the_job_has_the_image_of_the_cache_or_of_the_cluster_and_runs_where_pickers_may() -> None:
    serving = {
        "gateway": {"className": "any"},
        "images": {"engine": {"vLLM": "mirror/vllm:1"}},
        "imagePullSecrets": ["pull"],
        "endpointPicker": {
            "nodeSelector": {"role": "cpu"},
            "tolerations": [{"key": "cpu", "operator": "Exists"}],
        },
    }
    found = made(cache("a"), cache("b", image="fetch:1"), cluster("east", serving=serving))
    specs = [
        one.manifest["spec"]["template"]["spec"]
        for part in found.clusters[0].components
        for one in part.objects
        if one.kind == "Job"
    ]
    assert [spec["containers"][0]["image"] for spec in specs] == ["mirror/vllm:1", "fetch:1"]
    for spec in specs:
        assert spec["imagePullSecrets"] == [{"name": "pull"}]
        assert spec["nodeSelector"] == {"role": "cpu"}
        assert spec["tolerations"] == [{"key": "cpu", "operator": "Exists"}]


def test_secrets_of_the_stack_are_made_for_a_cache_alone() -> None:
    found = made(
        cache("qwen3", source={"token": {"secretRef": {"name": "hf"}}}),
        cluster("east"),
        secrets={"ml/hf": ["token"]},
    )
    assert "Secret east/ml/hf" in after(found, "Job", f"east/ml/{NAME}")
    assert found.warnings == ()


def test_pods_wait_for_the_marker_and_mount_the_files_read_only() -> None:
    found = made(cache("qwen3"), cluster("east"), _chat())
    workload = find(found, "Deployment", "east/ml/chat-decode-l4")
    spec = workload.manifest["spec"]["template"]["spec"]
    (gate,), (engine,) = spec["initContainers"], spec["containers"]
    assert gate["image"] == "engine:1"
    assert gate["env"] == WHERE
    assert gate["volumeMounts"] == [{"name": "weights", "mountPath": "/weights-volume", "readOnly": True}]
    assert {
        "name": "weights",
        "mountPath": "/weights/Qwen3-8B",
        "readOnly": True,
        "subPath": "model",
    } in engine["volumeMounts"]
    assert engine["args"][:3] == ["/weights/Qwen3-8B", "--served-model-name", "Qwen/Qwen3-8B"]
    assert {
        "name": "weights",
        "persistentVolumeClaim": {"claimName": NAME, "readOnly": True},
    } in spec["volumes"]
    assert f"PersistentVolumeClaim east/ml/{NAME}" in after(found, "Deployment", "east/ml/chat-decode-l4")


def test_a_claim_of_somebodys_is_mounted_as_it_is() -> None:
    to = {"claim": {"name": "models", "folder": "qwen"}}
    found = made(cache("qwen3", to=to), cluster("east"), _chat())
    assert "ModelCache" not in {kind for kind, _ in components(found, "east")}
    spec = find(found, "Deployment", "east/ml/chat-decode-l4").manifest["spec"]["template"]["spec"]
    assert "initContainers" not in spec
    assert {
        "name": "weights",
        "persistentVolumeClaim": {"claimName": "models", "readOnly": True},
    } in spec["volumes"]
    assert spec["containers"][0]["volumeMounts"][0] == {
        "name": "weights",
        "mountPath": "/weights/Qwen3-8B",
        "readOnly": True,
        "subPath": "qwen",
    }


def test_an_image_is_mounted_by_its_digest_and_nothing_is_fetched() -> None:
    reference = f"registry.example.com/models/qwen3@sha256:{'a' * 64}"
    found = made(cache("qwen3", to={"image": {"reference": reference}}), cluster("east"), _chat())
    assert "ModelCache" not in {kind for kind, _ in components(found, "east")}
    spec = find(found, "Deployment", "east/ml/chat-decode-l4").manifest["spec"]["template"]["spec"]
    assert "initContainers" not in spec
    assert {
        "name": "weights",
        "image": {"reference": reference, "pullPolicy": "IfNotPresent"},
    } in spec["volumes"]
    assert spec["containers"][0]["volumeMounts"][0] == {
        "name": "weights",
        "mountPath": "/weights/Qwen3-8B",
        "readOnly": True,
    }


def test_a_claim_stays_when_no_document_has_it_unless_its_cache_says_that_it_is_deleted() -> None:
    kept = find(made(cache("qwen3"), cluster("east")), "PersistentVolumeClaim", f"east/ml/{NAME}")
    ends = find(
        made(cache("qwen3", whenRemoved="Delete"), cluster("east")),
        "PersistentVolumeClaim",
        f"east/ml/{NAME}",
    )
    assert (kept.retain, ends.retain) == (True, False)
    said = {"inferfleet.dev/when-removed": "Delete"}
    assert ends.manifest["metadata"] == {**_metadata(), "annotations": {**_metadata()["annotations"], **said}}


def test_claims_of_former_commits_stand_while_pods_of_their_namespace_are_held() -> None:
    documents = stack(cache("qwen3", revision=OTHER), cluster("east"), _chat())
    held = desired(with_held(documents, {"ml/chat"}), lock({"chat east/l4": 1}))
    standing: dict[Resource, dict[str, Any]] = {}
    for retained, name in ((True, NAME), (False, "qwen3-weights-0000aaaa")):
        old = cache("qwen3", **({} if retained else {"whenRemoved": "Delete"}))
        outputs = claim(old, stack="test")
        outputs["metadata"] = {**outputs["metadata"], "name": name}
        place = Resource("ModelCache", "kubernetes:core/v1:PersistentVolumeClaim", f"east/ml/{name}")
        standing[place] = outputs
    found = kept(held, standing)
    (part,) = (one for one in found.clusters[0].components if one.kind == "ModelCache")
    old_claims = {one.kubernetes_name: (one.retain, one.ignore) for one in part.objects[2:]}
    assert old_claims == {NAME: (True, ("*",)), "qwen3-weights-0000aaaa": (False, ("*",))}


def test_another_commit_or_other_files_or_another_class_is_another_claim() -> None:
    caches = (
        cache("qwen3"),
        cache("qwen3", revision=OTHER),
        cache("qwen3", source={"files": ["*.gguf"]}),
        cache("qwen3", to={"claim": {"storageClassName": "fast"}}, size="20Gi"),
        cache("qwen3", size="40Gi"),
        cache("qwen3", source={"endpoint": "https://hub.example.com"}),
    )
    names = [
        next(
            one.kubernetes_name
            for one in made(each, cluster("east")).clusters[0].objects
            if one.kind == "Job"
        )
        for each in caches
    ]
    assert len(set(names)) == 4
    assert names[0] == names[4] == names[5]


def _in_bucket(**spec: Any) -> Document:
    return cache("qwen3", to={"bucket": {"name": "acme-weights"}}, size="20Gi", **spec)


def test_a_bucket_is_filled_once_by_a_job_on_the_first_cluster() -> None:
    found = made(_in_bucket(), cluster("east"), cluster("west"), cluster("aaa", state="lost"))
    assert [name for name in ("aaa", "east", "west") if "ModelCache" in dict(components(found, name))] == [
        "east"
    ]
    (account, job) = next(part.objects for part in found.clusters[1].components if part.kind == "ModelCache")
    assert (account.kind, account.kubernetes_name) == ("ServiceAccount", "qwen3-filler")
    template = job.manifest["spec"]["template"]
    assert template["spec"]["serviceAccountName"] == "qwen3-filler"
    assert template["metadata"]["annotations"]["gke-gcsfuse/volumes"] == "true"
    assert template["spec"]["volumes"] == [
        {
            "name": "weights",
            "csi": {
                "driver": "gcsfuse.csi.storage.gke.io",
                "volumeAttributes": {"bucketName": "acme-weights", "mountOptions": "implicit-dirs"},
            },
        },
        {"name": "part", "emptyDir": {"sizeLimit": "20Gi"}},
    ]
    values = {one["name"]: one.get("value") for one in template["spec"]["containers"][0]["env"]}
    folder = f"/weights-volume/ml/{job.kubernetes_name}"
    assert (values["WEIGHTS_VOLUME"], values["WEIGHTS_PART"]) == (folder, "/weights-part/files")


def test_vllm_streams_its_folder_of_a_bucket_once_a_mount_shows_the_marker() -> None:
    found = made(_in_bucket(), cluster("east"), _chat())
    job = next(one for one in found.clusters[0].objects if one.kind == "Job")
    template = find(found, "Deployment", "east/ml/chat-decode-l4").manifest["spec"]["template"]
    assert template["metadata"]["annotations"]["gke-gcsfuse/volumes"] == "true"
    engine = template["spec"]["containers"][0]
    assert "weights" not in {mount["name"] for mount in engine.get("volumeMounts", ())}
    assert engine["args"][:4] == [
        f"gs://acme-weights/ml/{job.kubernetes_name}/model",
        "--load-format=runai_streamer",
        "--served-model-name",
        "Qwen/Qwen3-8B",
    ]
    assert template["spec"]["initContainers"][0]["env"][0] == {
        "name": "WEIGHTS_VOLUME",
        "value": f"/weights-volume/ml/{job.kubernetes_name}",
    }
    assert found.plan.demands.declared["ml/chat", "decode"].pod.cpu == 250


def test_other_engines_and_commands_of_ones_own_read_a_folder_of_a_bucket_that_pods_mount() -> None:
    for declared, engine in (
        ({**LOADS, "type": "SGLang"}, {}),
        (LOADS, {"command": ["vllm", "serve", "$(INFERFLEET_MODEL)"]}),
    ):
        chat = deployment("chat", declared=declared, engine=engine)
        found = made(_in_bucket(), cluster("east"), chat)
        job = next(one for one in found.clusters[0].objects if one.kind == "Job")
        template = find(found, "Deployment", "east/ml/chat-decode-l4").manifest["spec"]["template"]
        assert {
            "name": "weights",
            "mountPath": "/weights/Qwen3-8B",
            "readOnly": True,
            "subPath": f"ml/{job.kubernetes_name}/model",
        } in template["spec"]["containers"][0]["volumeMounts"]


def test_a_load_format_of_ones_own_is_refused_where_the_stream_is_written() -> None:
    own = deployment("chat", declared={**LOADS, "args": ["--load-format=auto"]})
    with pytest.raises(InvalidDocuments, match="load-format"):
        made(_in_bucket(), cluster("east"), own)
    assert made(cache("qwen3"), cluster("east"), own).plan.placements


def test_pods_on_every_cluster_wait_for_the_one_job_of_a_bucket() -> None:
    documents = stack(_in_bucket(), cluster("east"), cluster("west"), _chat(replicas=2))
    planned = desired(documents, NOTHING)
    job = next(one.kubernetes_name for one in planned.clusters[0].objects if one.kind == "Job")
    spots = {spot("chat east/l4"), spot("chat west/l4")}
    assert set(unfilled(planned, documents, (), ()).starting) == spots
    assert unfilled(planned, documents, {("east", "ml", job)}, ()) == Unfilled()


def test_a_deployment_goes_only_where_its_cache_is() -> None:
    found = made(
        cache("qwen3", clusterSelector={"matchLabels": {"tier": "prod"}}),
        cluster("aaa"),
        _labelled("east", tier="prod"),
        _chat(),
    )
    assert {one.spot.cluster for one in found.plan.placements} == {"east"}


def test_why_a_cluster_does_not_take_it_is_told() -> None:
    found = made(cache("qwen3", clusterSelector={"matchLabels": {"tier": "prod"}}), cluster("east"), _chat())
    (unplaced,) = found.plan.unplaced
    assert [reason.why for reason in unplaced.reasons] == [
        "has no cache ml/qwen3, which is on clusters with tier=prod"
    ]


def test_prefill_takes_repository_and_commit_of_a_cache_and_not_its_name() -> None:
    def of(*documents: object, model: object) -> str:
        prefill = {"workers": {"topology": {"tensor": 1}}}
        chat = deployment("chat", declared={"model": model, "servedNames": []}, prefill=prefill)
        found = stack(*documents, cluster("east"), chat)
        return revision(found.deployments["ml/chat"], found.clusters["east"].spec.serving.images)

    cached = of(cache("qwen3"), model={"cache": "qwen3"})
    assert cached == of(cache("other"), model={"cache": "other"})
    assert cached == of(model={"repository": "Qwen/Qwen3-8B", "revision": COMMIT})
    assert cached != of(cache("qwen3", revision=OTHER), model={"cache": "qwen3"})


# What waits for weights.

SPOT = spot("chat east/l4")
DONE = {("east", "ml", NAME)}


def _waits(running: tuple[str, ...], *, filled: object = (), **pool: object) -> Unfilled:
    pools = [{"name": "l4", "className": "l4", **(pool or {"nodeCount": 2})}]
    documents = stack(cache("qwen3"), cluster("east", nodePools=pools), _chat())
    return unfilled(desired(documents, NOTHING), documents, filled, running)  # type: ignore[arg-type]


def test_new_pods_wait_for_weights_on_nodes_that_run_anyway() -> None:
    assert _waits(()) == Unfilled(starting={SPOT: ("ml/qwen3",)})


def test_nothing_waits_once_the_weights_are_there() -> None:
    assert _waits((), filled=DONE) == Unfilled()


def test_what_runs_stays_as_it_is_until_its_weights_are_there() -> None:
    assert _waits(("ml/chat",)) == Unfilled(held={SPOT: ("ml/qwen3",)})
    assert _waits(("ml/chat",), filled=DONE) == Unfilled()


def test_no_node_is_started_for_pods_that_wait() -> None:
    assert _waits((), maxNodeCount=2) == Unfilled(held={SPOT: ("ml/qwen3",)})


def test_a_deployment_that_is_held_is_paused_in_this_run_alone() -> None:
    documents = stack(cache("qwen3"), cluster("east"), _chat(), deployment("other"))
    held = with_held(documents, {"ml/chat"})
    assert {key: one.spec.paused for key, one in held.deployments.items()} == {
        "ml/chat": True,
        "ml/other": False,
    }
    assert with_held(documents, ()) is documents


def test_an_update_does_not_wait_for_pods_that_wait_for_weights() -> None:
    found = made(cache("qwen3"), cluster("east"), _chat(), deployment("other"))
    begun = with_starting(found, Unfilled(starting={SPOT: ("ml/qwen3",)}))
    assert _awaited(found) == {"chat-decode-l4", "other-decode-l4"}
    assert _awaited(begun) == {"other-decode-l4"}
    assert with_starting(found, Unfilled(held={SPOT: ("ml/qwen3",)})) is found


def test_what_waits_is_told_with_what_becomes_of_it() -> None:
    waits = Unfilled(held={SPOT: ("ml/qwen3",)}, starting={spot("new east/l4"): ("ml/qwen3",)})
    assert [(problem.severity, problem.what) for problem in unfilled_problems(waits)] == [
        (
            "notice",
            "weights of ModelCache ml/qwen3 are not on cluster east yet, from which ml/chat on east/l4 "
            "loads: nothing of the deployment changes in this update",
        ),
        (
            "notice",
            "weights of ModelCache ml/qwen3 are not on cluster east yet, from which ml/new on east/l4 "
            "loads: its pods start and wait for them, and this update does not wait for its pods",
        ),
    ]


def _awaited(found: Desired) -> set[str]:
    return {
        one.kubernetes_name
        for each in found.clusters
        for one in each.objects
        if one.kind == "Deployment"
        and "decode" in one.name
        and SKIP_AWAIT not in one.manifest["metadata"].get("annotations", {})
    }


def _labelled(name: str, **labels: str) -> object:
    plain = cluster(name)
    return plain.model_copy(update={"metadata": plain.metadata.model_copy(update={"labels": labels})})


def _metadata() -> dict[str, object]:
    return {
        "name": NAME,
        "namespace": "ml",
        "labels": {
            "app.kubernetes.io/managed-by": "inferfleet",
            "inferfleet.dev/stack": "test",
            "inferfleet.dev/cache": "qwen3",
        },
        "annotations": {
            "pulumi.com/skipAwait": "true",
            "inferfleet.dev/weights": f"Qwen/Qwen3-8B@{COMMIT}",
        },
    }
