"""GKE clusters of the stack: what is looked at on them, and what is not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cloud_pools import cloud_pools
from fake_cluster import FakeCluster, thing
from fake_google import PLAN, FakeGoogle
from own_cluster import GKE, NAME, desired_on, east_problem, look
from small_gke import DOCUMENTS

from inferfleet.clusters.preflight.observe import Observation, identify
from inferfleet.clusters.status.read import LiveCluster, read
from inferfleet.desired import desired
from inferfleet.desired.values import ExpectedNodes
from inferfleet.documents import load
from inferfleet.fleet.decisions import Leaving
from inferfleet.fleet.lock.lock import Lock
from inferfleet.fleet.node_conditions import conditions_of

Start = Callable[..., FakeCluster]
WHERE = f"{PLAN.cloud_name} --location {PLAN.region} --project {PLAN.project}"


def test_on_a_cluster_of_the_stacks_own_nothing_belongs_to_somebody_else(
    google: FakeGoogle, standing: Start
) -> None:
    config = thing("ConfigMap", "x", "ml", labels={"app.kubernetes.io/managed-by": "Helm"})
    standing(objects=[config])
    assert look(google, desired_on(config)) == Observation(uids={"east": "uid-1"})


@pytest.mark.parametrize(
    ("gateway", "severity"),
    [("gke-l7-rilb", "warning"), ("istio", "error")],
    ids=["of Google", "of somebody else"],
)
def test_a_gateway_class_that_gke_installs_itself_is_waited_for(
    google: FakeGoogle, standing: Start, gateway: str, severity: str
) -> None:
    standing()
    seen = look(google, desired_on(gateway=gateway))
    what = f"cluster 'east' has no GatewayClass '{gateway}' (it has: none)"
    assert [(problem.severity, problem.what) for problem in seen.problems] == [(severity, what)]


def test_kinds_that_gke_has_not_installed_yet_are_a_warning(google: FakeGoogle, standing: Start) -> None:
    standing(kinds={"apps/v1": {"Deployment": ("deployments", True)}})
    seen = look(google, desired_on(thing("HTTPRoute", "x", "ml"), gateway="gke-l7-rilb"))
    assert [(problem.severity, problem.what, problem.next_step) for problem in seen.problems] == [
        (
            "warning",
            "cluster 'east' does not know GatewayClass, HTTPRoute of gateway.networking.k8s.io/v1",
            "GKE installs it minutes after a cluster is created. If it does not come, look at the version "
            f"(`gcloud container clusters describe {WHERE} --format 'value(currentMasterVersion)'`), and run "
            f"`gcloud container clusters update {WHERE} --gateway-api=standard`",
        )
    ]


def test_labels_that_nodes_of_a_pool_of_the_stack_lack_are_a_warning(
    google: FakeGoogle, standing: Start
) -> None:
    """Those that the update gives to them count; size and devices are not looked at."""
    asked = conditions_of({"nodeSelector": {"disk": "fast", "tier": "gold"}})
    assert asked is not None
    selector, nvidia = {"inferfleet.dev/pool": "l4-0a1b2c"}, ("gpu.nvidia.com", "nvidia.com/gpu")
    pool = ExpectedNodes("l4", 0, "gke-l4", selector, 2, 1, *nvidia, 4, False, 1, 1)
    pool = replace(pool, conditions={asked: ("ml/a",)}, labels={"tier": ("gold",)})
    standing(objects=[thing("Node", "n", labels=selector)])
    desired = desired_on()
    clusters = tuple(replace(cluster, pools=(pool,)) for cluster in desired.clusters)
    assert look(google, replace(desired, clusters=clusters)).problems == (
        east_problem(
            "pods of ml/a need disk=fast, and of 1 node of pool east/l4, where they are placed, none would "
            "do",
            "Write the label into the pool, or correct the template: pods that find none stay Pending",
            "spec.nodePools[0].labels",
            severity="warning",
        ),
    )


def engine(name: str, pool: str) -> dict[str, Any]:
    labels = {"inferfleet.dev/deployment": "a", "inferfleet.dev/role": "decode"}
    limits = {"limits": {"nvidia.com/gpu": "2"}}
    pod = {
        "containers": [{"name": "engine", "resources": limits}],
        "nodeSelector": {"inferfleet.dev/pool": pool},
    }
    ours = {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return thing("Deployment", name, "ml", labels=ours, spec={"replicas": 1, "template": template})


@pytest.mark.parametrize("on_nodes", ["l4-0a1b2c", "l4-ffffff"], ids=["the pool", "the one it replaces"])
def test_leaving_workloads_are_in_the_pool_of_the_document(
    google: FakeGoogle, standing: Start, on_nodes: str
) -> None:
    standing(objects=[engine("a-decode-l4", on_nodes)])
    assert look(google, desired_on()).leaving == (
        Leaving("east", "ml", "a-decode-l4", pool="l4", pods=1, gpus_per_pod=2, deployment="ml/a"),
    )


def test_a_pool_whose_own_name_looks_like_a_hash_keeps_it(google: FakeGoogle, standing: Start) -> None:
    standing(objects=[engine("a-decode-x", "x-abcdef-0a1b2c")])
    desired = desired_on()
    pools = replace(PLAN, pools=cloud_pools(x_abcdef="x-abcdef-0a1b2c"))
    (one,) = desired.clusters
    there = replace(one, connection=replace(one.connection, cloud=pools))
    (gone,) = look(google, replace(desired, clusters=(there,))).leaving
    assert gone.pool == "x-abcdef"


def test_only_clusters_that_answer_have_a_uid_and_one_to_come_is_no_problem(
    google: FakeGoogle, standing: Start
) -> None:
    assert identify(desired_on(), {}, container_api=google.address, seconds=300) == ({}, {})
    standing()
    assert identify(desired_on(), {}, container_api=google.address, seconds=300) == ({"east": "uid-1"}, {})


def test_status_reads_a_cluster_that_stands_and_says_of_another_that_it_is_not_there_yet(
    google: FakeGoogle, standing: Start
) -> None:
    assert read(desired_on(), {}, container_api=google.address, seconds=300) == {
        "east": east_problem(
            f"not there yet: Google Cloud has no cluster {NAME}",
            "`pulumi up` creates it",
            GKE,
        )
    }
    standing()
    assert read(desired_on(), {}, container_api=google.address, seconds=300) == {"east": LiveCluster()}


def _custom(version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "ml"}}


WORKER_SETS = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
FIRST = "Create the cluster first, with replicas: 0 for its deployments"


def test_kinds_that_google_does_not_install_are_known_before_a_cluster_is_made(google: FakeGoogle) -> None:
    seen = look(
        google,
        desired_on(
            thing("Deployment", "a", "ml"),
            thing("HTTPRoute", "a", "ml"),
            _custom("networking.gke.io/v1", "HealthCheckPolicy", "a"),
            _custom("autoscaling.x-k8s.io/v1", "ProvisioningRequest", "a"),
            _custom("jobset.x-k8s.io/v1alpha2", "JobSet", "warm"),
            _custom(*WORKER_SETS, "kimi"),
            _custom(*WORKER_SETS, "glm"),
        ),
    )
    assert seen.problems == (
        east_problem(
            "cluster 'east' does not exist yet, so it will not know JobSet of jobset.x-k8s.io/v1alpha2, "
            "which GKE does not install, and the update fails at ml/warm once nodes are billed",
            f"{FIRST}. Install the CRDs of this version there. Then write the replicas",
        ),
        east_problem(
            "cluster 'east' does not exist yet, so it will not know LeaderWorkerSet of "
            "leaderworkerset.x-k8s.io/v1, which GKE does not install, and the update fails at ml/kimi, "
            "ml/glm once nodes are billed",
            "Write serving: {stack: Managed}, so that inferfleet installs it",
        ),
    )


def test_what_somebody_has_to_install_is_not_waited_for(google: FakeGoogle, standing: Start) -> None:
    standing()
    (problem,) = look(google, desired_on(_custom("jobset.x-k8s.io/v1alpha2", "JobSet", "warm"))).problems
    assert problem == east_problem(
        "cluster 'east' does not know JobSet of jobset.x-k8s.io/v1alpha2",
        "Install the CRDs of this version there",
    )


def test_drivers_of_claims_are_known_to_be_missing_before_a_cluster_is_made(google: FakeGoogle) -> None:
    devices = [
        {"name": name, "exactly": {"deviceClassName": name}}
        for name in ("gpu.nvidia.com", "mrdma.google.com")
    ]
    claim = _custom("resource.k8s.io/v1", "ResourceClaimTemplate", "a")
    (problem,) = look(
        google, desired_on({**claim, "spec": {"spec": {"devices": {"requests": devices}}}})
    ).problems
    assert (problem.severity, problem.path, problem.what) == (
        "warning",
        "spec.nodePools",
        "cluster 'east' does not exist yet, so DeviceClass 'gpu.nvidia.com' is not there, which claims of "
        "pods name",
    )


PIPELINE = """\
---
apiVersion: inferfleet.dev/v1alpha1
kind: ModelDeployment
metadata: {name: kimi, namespace: ml}
spec:
  replicas: 1
  engine: {model: moonshotai/Kimi-K2}
  plugins: [{name: model-cache, config: {pvc: {claimName: nothere}}}]
  workers:
    topology: {tensor: 1, pipeline: 2}
    template: {spec: {containers: [{name: engine, image: "vllm:1", resources: {requests: {cpu: "1"}}}]}}
"""


def test_a_first_update_is_told_what_it_will_lack_before_anything_is_billed(
    google: FakeGoogle, tmp_path: Path
) -> None:
    file = tmp_path / "documents.yaml"
    file.write_text(DOCUMENTS + PIPELINE)
    documents = load([file], catalogue=None)
    seen = look(google, desired(documents, Lock()))
    told = [(one.severity, one.key, one.path, one.what) for one in seen.problems]
    assert (seen.absent, told) == (
        ("east",),
        [
            (
                "error",
                "east",
                "",
                "cluster 'east' does not exist yet, so it will not know LeaderWorkerSet of "
                "leaderworkerset.x-k8s.io/v1, which GKE does not install, and the update fails at "
                "ml/kimi-decode-l4 once nodes are billed",
            ),
            (
                "warning",
                "ml/kimi",
                "spec.plugins[0]",
                "cluster 'east' does not exist yet, so PersistentVolumeClaim ml/nothere is not there, which "
                "pods of ml/kimi name",
            ),
        ],
    )
