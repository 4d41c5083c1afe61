"""What pods name and nobody made is told before anything is written, with the line that names it."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_cluster import KINDS, FakeCluster, thing
from fake_google import FakeGoogle
from own_cluster import connection
from own_cluster import look as look_in_cloud
from test_observe import desired_on, east, look, need

from inferfleet.desired.values import DesiredCluster
from inferfleet.documents.problems import Problem

Start = Callable[..., FakeCluster]
NAMED = {
    "v1": {
        "PersistentVolumeClaim": ("persistentvolumeclaims", True),
        "ServiceAccount": ("serviceaccounts", True),
    },
    "node.k8s.io/v1": {"RuntimeClass": ("runtimeclasses", False)},
    "scheduling.k8s.io/v1": {"PriorityClass": ("priorityclasses", False)},
    "storage.k8s.io/v1": {"CSIDriver": ("csidrivers", False), "StorageClass": ("storageclasses", False)},
}
ALL = {**KINDS, **NAMED, "v1": {**KINDS["v1"], **NAMED["v1"]}}
# (kind, what there is of it, what becomes of pods, next step)
CREATE = "Create it there, or correct its name"
MISSING = [
    ("PersistentVolumeClaim", "", "they wait until it does", CREATE),
    ("ConfigMap", "", "they wait until it does", CREATE),
    (
        "Secret",
        "",
        "they wait until it does",
        "Create it there, or let the stack hold it (setting `secrets`)",
    ),
    ("ServiceAccount", "", "none of them is created until it does", CREATE),
    (
        "RuntimeClass",
        " (it has: other)",
        "none of them is created until it does",
        "Install the runtime that it is for, or name one that is there",
    ),
    ("PriorityClass", " (it has: other)", "none of them is created until it does", CREATE),
    (
        "CSIDriver",
        " (it has: other)",
        "they wait until it does",
        "Install the driver there, or take another volume",
    ),
    ("StorageClass", " (it has: other)", "they wait until it does", CREATE),
]
CLASSES = ("RuntimeClass", "PriorityClass", "CSIDriver", "StorageClass")


def _object(kind: str, name: str) -> dict[str, Any]:
    version = next(version for version, kinds in ALL.items() if kind in kinds)
    metadata = {"name": name} if kind in CLASSES else {"name": name, "namespace": "ml"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _named(kind: str, name: str = "x", **more: Any) -> Any:
    return need(kind, name, namespace="" if kind in CLASSES else "ml", **more)


@pytest.mark.parametrize(("kind", "others", "effect", "step"), MISSING)
def test_what_pods_name_and_a_cluster_lacks_is_told(
    cluster: Start, kind: str, others: str, effect: str, step: str
) -> None:
    fake = cluster(kinds=ALL, objects=[_object(kind, "other")])
    title = f"{kind} x" if kind in CLASSES else f"{kind} ml/x"
    assert look(fake, east(objects_needed=(_named(kind),))).problems == (
        Problem(
            f"{title}, which pods of ml/a on cluster 'east' name, does not exist{others}: {effect}",
            step,
            "spec",
            kind="ModelDeployment",
            key="ml/a",
            severity="warning" if kind == "StorageClass" else "error",
        ),
    )


@pytest.mark.parametrize("kind", [kind for kind, *_ in MISSING])
def test_what_is_there_costs_one_request_and_nothing_is_said(cluster: Start, kind: str) -> None:
    fake = cluster(kinds=ALL, objects=[_object(kind, "x")])
    before = cluster(kinds=ALL)
    assert look(before, east()).problems == look(fake, east(objects_needed=(_named(kind),))).problems == ()
    assert len(fake.asked) == len(before.asked) + 1


def test_secrets_must_have_the_keys_that_are_read_and_their_values_are_not_repeated(cluster: Start) -> None:
    fake = cluster(objects=[thing("Secret", "hf", "ml", data={"token": "aHVudGVyMg=="})])
    needs = (
        need("Secret", "hf", "token", "user", readers=("ml/a", "ml/b")),
        need("Secret", "hf"),
    )
    seen = look(fake, east(objects_needed=needs))
    assert [problem.what for problem in seen.problems] == [
        "Secret ml/hf, which pods of ml/a, ml/b on cluster 'east' name, has no key user"
    ]
    assert "aHVudGVyMg" not in repr(seen)


def test_what_credentials_may_not_see_is_one_warning(cluster: Start) -> None:
    hidden = {f"/api/v1/namespaces/ml/{plural}/x": 403 for plural in ("secrets", "persistentvolumeclaims")}
    needs = (_named("PersistentVolumeClaim"), _named("Secret"))
    seen = look(cluster(kinds=ALL, status=hidden), east(objects_needed=needs))
    assert [(problem.severity, problem.what) for problem in seen.problems] == [
        (
            "warning",
            "the credentials of cluster 'east' may not read persistentvolumeclaims, secrets, so nobody "
            "looked whether what pods name is there (PersistentVolumeClaim ml/x, Secret ml/x)",
        )
    ]


@pytest.mark.parametrize("status", [403, 500])
def test_what_is_missing_is_told_where_others_of_its_kind_cannot_be_listed(
    cluster: Start, status: int
) -> None:
    fake = cluster(kinds=ALL, status={"/apis/node.k8s.io/v1/runtimeclasses": status})
    seen = look(fake, east(objects_needed=(_named("RuntimeClass"), _named("ServiceAccount"))))
    assert [problem.what for problem in seen.problems] == [
        f"{title}, which pods of ml/a on cluster 'east' name, does not exist: none of them is created until "
        "it does"
        for title in ("RuntimeClass x", "ServiceAccount ml/x")
    ]


def test_an_api_server_that_fails_is_told_as_that(cluster: Start) -> None:
    path = "/api/v1/namespaces/ml/secrets/x"
    seen = look(cluster(status={path: 500}), east(objects_needed=(_named("Secret"),)))
    assert [problem.what for problem in seen.problems] == [
        f"cluster 'east' refused GET {path} (500): the API server failed"
    ]


def test_what_a_controller_may_make_of_a_companion_is_a_warning(cluster: Start) -> None:
    (problem,) = look(cluster(), east(objects_needed=(_named("Secret", may_follow=True),))).problems
    assert (problem.severity, problem.next_step) == (
        "warning",
        "Create it there, or let the stack hold it (setting `secrets`), unless a controller makes it of what "
        "a plugin adds beside the pods",
    )


def _in_cloud(google: FakeGoogle, *needs: Any) -> list[tuple[str, str]]:
    wanted = DesiredCluster(connection(), (), objects_needed=needs)
    return [(one.severity, one.what) for one in look_in_cloud(google, desired_on(wanted)).problems]


def test_what_an_update_may_bring_to_a_cluster_of_the_stack_is_a_warning_there(
    google: FakeGoogle, standing: Start
) -> None:
    standing(kinds=ALL)
    told = _in_cloud(google, _named("CSIDriver"), _named("PersistentVolumeClaim"))
    assert [severity for severity, _ in told] == ["warning", "error"]


def test_what_nobody_can_have_made_on_a_cluster_to_come_is_told_in_one_line_for_each_kind(
    google: FakeGoogle,
) -> None:
    told = _in_cloud(
        google,
        _named("CSIDriver"),
        _named("PersistentVolumeClaim", "a", readers=("ml/a", "ml/b")),
        _named("PersistentVolumeClaim", "b"),
        _named("RuntimeClass"),
        _named("Secret", may_follow=True),
        _named("StorageClass"),
    )
    absent = "cluster 'east' does not exist yet, so"
    assert told == [
        (
            "warning",
            f"{absent} PersistentVolumeClaim ml/a, PersistentVolumeClaim ml/b are not there, which pods of "
            "ml/a, ml/b name",
        ),
        ("warning", f"{absent} RuntimeClass x is not there, which pods of ml/a name"),
    ]
