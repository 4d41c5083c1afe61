"""What plugins do to pods that run: only what pods need restarts them, and companions block no update."""

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from documents import deployment
from project import Project

TWEAK = "demo-pod-tweaks"
SHAPED, OTHER = "Deployment east/ml/shaped-decode-l4", "Deployment east/ml/other-decode-l4"
PROVENANCE = 'metadata.annotations["inferfleet.dev/plugins"]'
COMPANIONS = 'spec.template.metadata.annotations["inferfleet.dev/companions"]'
# Kind and suffix of what the plugin `beside` adds, in its order.
BESIDE = (("Service", "-peers"), ("ConfigMap", ""), ("ConfigMap", "-notes"), ("Service", "-late"))

PLUGIN = '''
from inferfleet.plugins.api import (
    Companion, Config, Edited, Plugin, PodTemplate, Request, engine, put_mount, put_volume
)


class Beside(Config):
    text: str
    notes: str = "none"
    words: str = ""


def edit(template: PodTemplate, request: Request, config: Beside) -> Edited:
    """Put settings beside the engine, notes that nobody reads, and two Services."""

    def named(kind: str, suffix: str = "", **fields: object) -> dict[str, object]:
        name = request.companion_name("beside", suffix)
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}

    put_volume(template, {"name": "beside", "configMap": {"name": request.companion_name("beside")}})
    put_mount(engine(template), {"name": "beside", "mountPath": "/etc/beside"})
    spec = {"selector": dict(request.selector), "ports": [{"port": 80, "targetPort": "http"}]}
    companions = (
        named("Service", "peers", spec={**spec, "clusterIP": "None"}),
        named("ConfigMap", data={"text": config.text}),
        named("ConfigMap", "notes", data={"notes": config.notes}),
        Companion(named("Service", "late", spec=spec), when="after"),
    )
    if config.words:
        data = {"WORDS": config.words}
        name = request.companion_name("beside", "words", contents=data)
        engine(template)["envFrom"] = [{"configMapRef": {"name": name}}]
        words = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        companions = (*companions, {**words, "immutable": True})
    return Edited(template, companions)


PLUGIN = Plugin("beside", Beside, edit, version="1.0.0")
'''


def tweak(**config: Any) -> dict[str, Any]:
    return {"name": TWEAK, "config": config}


def beside(text: str, **config: Any) -> dict[str, Any]:
    return {"name": "beside", "config": {"text": text, **config}}


LEVEL, TEAM = tweak(env=[{"name": "LEVEL", "value": "INFO"}]), tweak(annotations={"example.com/team": "chat"})
START = [LEVEL, TEAM, beside("a")]


@pytest.fixture(scope="module")
def fleet(standing: Project) -> Iterator[Project]:
    """`shaped` and `other` on east, each with companions of its own, as the tests below leave them."""
    folder = standing.root / "plugins"
    folder.mkdir()
    (folder / "beside.py").write_text(PLUGIN)
    standing.configure(allowedPlugins=[{"name": "beside", "version": "1.0.0"}])
    shaped(standing, *START)
    standing.write("other", deployment("other", on="east", plugins=[beside("b")]))
    begun = standing.up()
    assert begun.code == 0, begun.output
    RUNS.append(begun)
    yield standing
    shutil.rmtree(folder)


RUNS: list[Any] = []


def shaped(project: Project, *plugins: dict[str, Any]) -> None:
    project.write("shaped", deployment("shaped", on="east", plugins=list(plugins)))


def pods(project: Project) -> dict[str, set[str]]:
    """The UIDs of ReplicaSets, and of pods that are not on their way out, by deployment."""
    uids: dict[str, set[str]] = {}
    for item in (*project.items("east", "pods"), *project.items("east", "replicasets")):
        metadata = item["metadata"]
        if "inferfleet.dev/role" in metadata["labels"] and "deletionTimestamp" not in metadata:
            uids.setdefault(metadata["labels"]["inferfleet.dev/deployment"], set()).add(metadata["uid"])
    return uids


def template(project: Project, name: str) -> dict[str, Any]:
    """The pod template of a workload on the cluster."""
    found = project.kubectl("east", "get", "deployment", "-n", "ml", f"{name}-decode-l4", "-o", "json")
    whole: dict[str, Any] = json.loads(found)["spec"]["template"]
    return whole


def test_companions_stand_in_order_and_no_service_is_waited_for(fleet: Project) -> None:
    (begun,) = RUNS
    names = [f"{kind} east/ml/shaped-decode-l4-beside{suffix}" for kind, suffix in BESIDE]
    steps = [*names[:3], SHAPED, names[3]]
    timeline = [step for step in begun.timeline if step.partition(" ")[2] in steps]
    assert timeline == [f"{word} {step}" for step in steps for word in ("start", "done")]
    # Pulumi would wait for endpoints of a Service for ten minutes.
    assert all(begun.seconds[name] < 300 for name in names)


def test_what_no_pod_needs_restarts_none(fleet: Project) -> None:
    """Plugins that do not touch each other are swapped, one without effect is added, and notes change."""
    before = pods(fleet)
    without_effect = tweak(annotations={})
    shaped(
        fleet, TEAM, tweak(runtimeClassName="", **LEVEL["config"]), beside("a", notes="new"), without_effect
    )
    done = fleet.up()
    assert (done.code, done.changed) == (
        0,
        {"ConfigMap east/ml/shaped-decode-l4-beside-notes": ("data.notes",), SHAPED: (PROVENANCE,)},
    ), done.output
    assert pods(fleet) == before


def test_another_text_of_a_companion_rolls_the_pods_that_read_it_and_no_others(fleet: Project) -> None:
    before = pods(fleet)
    shaped(fleet, TEAM, LEVEL, beside("c", notes="new"))
    done = fleet.up()
    assert (done.code, done.changed) == (
        0,
        {
            "ConfigMap east/ml/shaped-decode-l4-beside": ("data.text",),
            SHAPED: (PROVENANCE, COMPANIONS),
        },
    ), done.output
    warning = "an update changes ConfigMap shaped-decode-l4-beside while pods of ml/shaped-decode-l4 run"
    assert warning in done.output
    after = pods(fleet)
    assert after["other"] == before["other"]
    assert not [pod for pod in _live(fleet, "shaped") if pod in before["shaped"]]


def test_a_companion_named_by_its_contents_is_made_beside_and_the_old_one_ends_last(fleet: Project) -> None:
    def roll(words: str) -> Any:
        shaped(fleet, TEAM, LEVEL, beside("c", notes="new", words=words))
        done = fleet.up()
        assert done.code == 0, done.output
        return done

    def words() -> dict[str, str]:
        kept = {item["metadata"]["name"]: item.get("data", {}) for item in fleet.items("east", "configmaps")}
        prefix = "shaped-decode-l4-beside-words-"
        return {name: data["WORDS"] for name, data in kept.items() if name.startswith(prefix)}

    roll("a")
    ((old, _),) = words().items()
    done = roll("b")
    ((new, text),) = words().items()
    assert (new != old, text) == (True, "b")
    steps = [f"ConfigMap east/ml/{new}", SHAPED, f"ConfigMap east/ml/{old}"]
    assert [step for step in done.timeline if step.partition(" ")[2] in steps] == [
        f"{word} {step}" for step in steps for word in ("start", "done")
    ]
    assert "an update changes ConfigMap" not in done.output


def test_a_removed_plugin_takes_what_it_added(fleet: Project) -> None:
    before = pods(fleet)
    shaped(fleet)
    done = fleet.up()
    names = [f"{kind} east/ml/shaped-decode-l4-beside{suffix}" for kind, suffix in BESIDE]
    names += [name for name in done.operations if name.startswith(f"{names[1]}-words-")]
    assert (len(names), done.code, done.operations) == (
        5,
        0,
        {SHAPED: "update", **dict.fromkeys(names, "delete")},
    ), done.output
    bare = template(fleet, "shaped")
    assert "annotations" not in bare["metadata"]
    (engine,) = bare["spec"]["containers"]
    assert [variable["name"] for variable in engine["env"]] == ["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"]
    assert [mount["name"] for mount in engine["volumeMounts"]] == ["dshm"]
    assert pods(fleet)["other"] == before["other"]
    left = {item["metadata"]["name"] for item in fleet.items("east", "configmaps")}
    assert not {name for name in left if name.startswith("shaped-decode-l4-beside")}


def _live(project: Project, name: str) -> list[str]:
    """The UIDs of the pods of a deployment that are not on their way out."""
    return [
        item["metadata"]["uid"]
        for item in project.items(
            "east", "pods", "-l", f"inferfleet.dev/deployment={name},inferfleet.dev/role"
        )
        if "deletionTimestamp" not in item["metadata"]
    ]
