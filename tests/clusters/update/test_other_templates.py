"""What an update says at its end of workloads that have another pod template than the documents."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fake_cluster import FakeCluster, thing
from test_confirm import LABELS, RESOLVED_POOL, confirm, with_workloads

from inferfleet.desired.values import KubeObject

Start = Callable[..., FakeCluster]
NEXT = (
    "Run `pulumi up --refresh`: this update left it out (--target), one that set it was cancelled, or "
    "somebody changed it by hand. Where it comes back, something on the cluster sets it"
)


def _template(image: str, **more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "engine", "image": image, **more}]}}


def _made(kind: str, name: str, image: str, **more: Any) -> dict[str, Any]:
    template = _template(image, **more)
    if kind == "Deployment":
        spec = {"replicas": 1, "template": template}
    else:
        spec = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}}
    return thing(kind, name, "ml", labels=LABELS, spec=spec)


def _wanted(kind: str, name: str, image: str) -> KubeObject:
    return KubeObject(f"east/ml/{name}", _made(kind, name, image))


def _told(cluster: Start, wanted: list[KubeObject], *live: dict[str, Any]) -> list[tuple[str, str, str]]:
    picker = thing("Deployment", "one-epp", "ml", labels=LABELS, spec={"replicas": 1})
    picker["status"] = {"availableReplicas": 1}
    fake = cluster(objects=[*RESOLVED_POOL, picker, *live])
    problems = confirm(fake, with_workloads(*wanted))
    return [(problem.severity, problem.what, problem.next_step) for problem in problems]


def test_workloads_that_differ_alike_are_told_once(cluster: Start) -> None:
    wanted = [_wanted("Deployment", "a", "one"), _wanted("Deployment", "b", "one")]
    wanted.append(_wanted("LeaderWorkerSet", "c", "one"))
    live = [_made("Deployment", "a", "two"), _made("Deployment", "b", "two")]
    live.append(_made("LeaderWorkerSet", "c", "two"))
    field = "containers[engine].image of"
    assert _told(cluster, wanted, *live) == [
        (
            "warning",
            f"cluster 'east': spec.template.spec.{field} Deployment ml/a, Deployment ml/b is two, "
            "documents say one",
            NEXT,
        ),
        (
            "warning",
            f"cluster 'east': spec.leaderWorkerTemplate.workerTemplate.spec.{field} LeaderWorkerSet ml/c is "
            "two, documents say one",
            NEXT,
        ),
    ]


def test_further_fields_are_counted(cluster: Start) -> None:
    wanted = KubeObject("east/ml/a", _made("Deployment", "a", "one", command=["serve"], args=["x"]))
    [(_, what, _)] = _told(cluster, [wanted], _made("Deployment", "a", "two", command=["run"]))
    assert what == (
        "cluster 'east': spec.template.spec.containers[engine].image of Deployment ml/a is two, "
        "documents say one (2 more fields differ)"
    )


def test_what_others_add_to_a_template_is_not_told(cluster: Start) -> None:
    live = _made("Deployment", "a", "one", imagePullPolicy="Always")
    assert _told(cluster, [_wanted("Deployment", "a", "one")], live) == []


def test_a_workload_whose_fields_are_somebody_elses_is_not_told(cluster: Start) -> None:
    wanted = replace(_wanted("Deployment", "a", "one"), ignore=("spec",))
    assert _told(cluster, [wanted], _made("Deployment", "a", "two")) == []
