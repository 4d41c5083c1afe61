"""Names and labels of running stacks: a change here replaces what runs, so each is pinned."""

import subprocess
import sys

import pytest

from inferfleet.cloud.gke import names as cloud_names
from inferfleet.fleet import names
from inferfleet.fleet.spot import Spot

UNIFIED = Spot("ml/qwen3-coder", "east", (("decode", "h100"),))
SPLIT = Spot("ml/deepseek", "east", (("decode", "h200"), ("prefill", "h100")))
REVISED = SPLIT._replace(revision="3fa01c")


def _in_cloud(stack: str, project: str = "acme-ml", region: str = "us-east5") -> str:
    return cloud_names.gke_cluster("east", stack=stack, project=project, region=region)


@pytest.mark.parametrize(
    ("made", "pinned"),
    [
        (names.workload(UNIFIED, "decode"), "qwen3-coder-decode-h100"),
        (names.workload(SPLIT, "prefill"), "deepseek-prefill-h100"),
        (names.gang(SPLIT), "deepseek-h200-h100-gang"),
        (names.companion("qwen3-coder-decode-h100", "tuning"), "qwen3-coder-decode-h100-tuning"),
        (names.companion("coder-decode-h100", "tuning", "peers"), "coder-decode-h100-tuning-peers"),
        (names.companion("a" * 53, "b" * 9), f"{'a' * 53}-{'b' * 9}"),
        (names.companion("a" * 53, "b" * 10), f"{'a' * 53}-2364fa1f"),
        (names.companion("a" * 66, "b" * 63, "peers"), f"{'a' * 48}-5ea94690-peers"),
        (names.PLUGINS, "inferfleet.dev/plugins"),
        (names.COMPANIONS, "inferfleet.dev/companions"),
        (names.endpoint("ml/qwen3-coder"), "qwen3-coder"),
        (names.epp("ml/qwen3-coder", ""), "qwen3-coder-epp"),
        (names.epp_cluster_scoped("ml/qwen3-coder", ""), "inferfleet:ml:qwen3-coder:epp"),
        (names.service_route("ml/coder"), "coder-svc"),
        (names.placement(UNIFIED), "h100"),
        (names.placement(SPLIT), "h200-h100"),
        (names.deployment_path("ml/qwen3-coder"), "/ml/deployments/qwen3-coder/"),
        (names.service_path("ml/coder"), "/ml/coder/"),
        (names.front_door("main"), "front-main"),
        (names.of_front_door("main", "ml", "coder", "path"), "front-main.ml.coder.path"),
        (names.front_door_router("main"), "front-main-router"),
        (names.front_door_cluster("main", "east"), "front-main-east-dc1f9a"),
        (len(names.front_door_cluster("a" * 24, "b" * 24)), 62),
        (names.existing_identity("east"), "existing/east"),
        (names.endpoint_component("east", "ml/qwen3-coder"), "east/ml/qwen3-coder"),
        (names.replicas_component(UNIFIED), "east/ml/qwen3-coder-h100"),
        (names.replicas_component(SPLIT), "east/ml/deepseek-h200-h100"),
        (names.service_component("east", "ml/coder"), "east/ml/coder"),
        (names.pulumi_object("east", "coder-svc", namespace="ml"), "east/ml/coder-svc"),
        (names.pulumi_object("east", "inferfleet:ml:a:epp"), "east/inferfleet:ml:a:epp"),
        (_in_cloud("prod"), "east-51d4d6"),
        (_in_cloud("dev"), "east-3d158c"),
        (_in_cloud("dev", project="acme-two"), "east-8350ee"),
        (_in_cloud("dev", region="us-east1"), "east-8d59e1"),
        (cloud_names.gke_part("east-51d4d6", "nodes"), "east-51d4d6-nodes"),
        (cloud_names.gke_pool("h100", "1a2b3c"), "h100-1a2b3c"),
        (cloud_names.gke_identity("acme-ml", "us-east5", "east-51d4d6"), "gke/acme-ml/us-east5/east-51d4d6"),
        (cloud_names.node_account("east", stack="prod"), "if-4fc28d546363"),
        (cloud_names.node_account("west", stack="prod"), "if-3fc1fa15ada1"),
        (cloud_names.account_email("if-1", "acme-ml"), "if-1@acme-ml.iam.gserviceaccount.com"),
        (
            cloud_names.account_email("if-1", "acme.com:ml-prod"),
            "if-1@ml-prod.acme.com.iam.gserviceaccount.com",
        ),
        (cloud_names.cloud_resource("east", "nodes"), "east/nodes"),
        (names.SYSTEM_NAMESPACE, "inferfleet-system"),
        (names.GATEWAY, "inferfleet"),
        (names.POOL, "inferfleet.dev/pool"),
        (str(SPLIT), "ml/deepseek east decode=h200 prefill=h100"),
        (str(REVISED), "ml/deepseek@3fa01c east decode=h200 prefill=h100"),
        (names.workload(REVISED, "prefill"), "deepseek-prefill-h100-3fa01c"),
        (names.placement(REVISED), "h200-h100-3fa01c"),
        (names.replicas_component(REVISED), "east/ml/deepseek-h200-h100-3fa01c"),
        (names.inference_pool("ml/deepseek", "3fa01c"), "deepseek-3fa01c"),
        (names.epp("ml/deepseek", "3fa01c"), "deepseek-3fa01c-epp"),
        (names.epp("ml/deepseek", names.revised("3fa01c", "5e0a77")), "deepseek-3fa01c-5e0a77-epp"),
        (names.epp("ml/qwen3-coder", names.revised("", "5e0a77")), "qwen3-coder-5e0a77-epp"),
        (names.revised("", ""), ""),
        (names.epp_cluster_scoped("ml/deepseek", "3fa01c"), "inferfleet:ml:deepseek-3fa01c:epp"),
        (names.pool_of("h100.3fa01c"), "h100"),
        (names.pool_of("h100"), "h100"),
    ],
)
def test_names_stay_what_they_are(made: str, pinned: str) -> None:
    assert made == pinned


@pytest.mark.parametrize(
    ("made", "pinned"),
    [
        (
            cloud_names.cloud_labels("Team.Prod_1", cluster="east"),
            {"managed-by": "inferfleet", "inferfleet-cluster": "east", "inferfleet-stack": "team-prod_1"},
        ),
        (
            names.object_labels("prod"),
            {"app.kubernetes.io/managed-by": "inferfleet", "inferfleet.dev/stack": "prod"},
        ),
        (
            names.object_labels("prod", deployment="ml/qwen3-coder"),
            {
                "app.kubernetes.io/managed-by": "inferfleet",
                "inferfleet.dev/stack": "prod",
                "inferfleet.dev/deployment": "qwen3-coder",
            },
        ),
        (
            names.pod_labels(SPLIT, "decode", serves=True, engine_type="vllm"),
            {
                "inferfleet.dev/deployment": "deepseek",
                "inferfleet.dev/role": "decode",
                "inferfleet.dev/placement": "h200",
                "inferfleet.dev/serves": "true",
                "llm-d.ai/role": "decode",
                "llm-d.ai/engine-type": "vllm",
                "llm-d.ai/inference-serving": "true",
            },
        ),
        (
            names.llm_d_labels(UNIFIED, unified=True),
            {"llm-d.ai/model": "qwen3-coder", "llm-d.ai/role": "both"},
        ),
        (names.llm_d_labels(SPLIT, unified=False), {"llm-d.ai/model": "deepseek"}),
        (
            names.workload_selector(UNIFIED, "decode"),
            {
                "inferfleet.dev/deployment": "qwen3-coder",
                "inferfleet.dev/role": "decode",
                "inferfleet.dev/placement": "h100",
            },
        ),
        (
            names.pool_selector("ml/qwen3-coder", ""),
            {"inferfleet.dev/deployment": "qwen3-coder", "inferfleet.dev/serves": "true"},
        ),
        (
            names.endpoint_labels("ml/qwen3-coder", "east"),
            {"inferfleet.dev/deployment": "qwen3-coder", "inferfleet.dev/cluster": "east"},
        ),
        (names.shares_node(), {"inferfleet.dev/shares-node": "true"}),
    ],
)
def test_labels_stay_what_they_are(made: dict[str, str], pinned: dict[str, str]) -> None:
    assert made == pinned


def test_pools_of_many_roles_are_a_label_value_and_differ() -> None:
    spots = [
        Spot("ml/a", "east", (("decode", end), *((f"r{i}", f"pool-of-sixteen{i}") for i in range(4))))
        for end in ("h200", "h100")
    ]
    made = [names.placement(spot) for spot in spots]
    assert made == [
        "h200-pool-of-sixteen0-pool-of-sixteen1-pool-of-sixteen2-917ba4",
        "h100-pool-of-sixteen0-pool-of-sixteen1-pool-of-sixteen2-519ca9",
    ]


def test_followers_carry_no_serves_label() -> None:
    labels = names.pod_labels(UNIFIED, "decode", serves=False, engine_type="vllm")
    assert names.SERVES not in labels


def test_names_are_cheap_to_import() -> None:
    code = "import sys, inferfleet.fleet.names; assert 'pydantic' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
