"""An empty cluster gets its add-ons from the stack; another version is a reviewed diff, there and back."""

from collections.abc import Iterator

import pytest
from asking import ask, going_on, url
from documents import Document, cluster, model, service
from project import Operations, Project, Run
from sandboxes import running

from sandbox.network.obstacles import obstacle

STACK = "upgraded"
OLD, NEW = "1.31.0", "1.31.1"
GATEWAY = {
    "className": "istio",
    "provider": "istio",
    "port": 8080,
    "serviceType": "LoadBalancer",
}
ISTIO = "east/istio"
DEFINITION = "CustomResourceDefinition"


def east(istio: str) -> Document:
    serving = {
        "gateway": GATEWAY,
        "stack": {
            "gatewayAPI": "Managed",
            "inferenceExtension": "Managed",
            "istio": {"version": istio},
            "leaderWorkerSet": "Managed",
        },
    }
    return cluster("east", stack=STACK, pools={"l4": ("nvidia-l4-4x", 2)}, serving=serving)


def pair() -> Document:
    made = model("pair")
    made["spec"]["workers"]["topology"]["pipeline"] = 2
    return made


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    if why := obstacle():
        pytest.skip(str(why))
    models = (pair(), service("chat", pair=1))
    # The sandbox renders what is missing of what these need.
    with running(tmp_path_factory.mktemp(STACK), STACK, east(OLD), *models) as project:
        project.write("clusters", east(OLD))
        project.write("models", *models)
        yield project


@pytest.fixture(scope="module")
def first(empty: Project) -> Run:
    done = empty.up()
    assert done.code == 0, done.output
    return done


def render(project: Project, istio: str) -> None:
    """Write the version down, as a person does."""
    project.write("clusters", east(istio))
    done = project.cli("stack", "render", "--stack", STACK)
    assert done.returncode == 0, done.stdout + done.stderr


def pods(project: Project) -> dict[str, str]:
    """The pods of the model and its picker, with their UIDs: a new istiod rolls its proxies itself."""
    found = project.items("east", "pods")
    ours = (pod["metadata"] for pod in found if pod["metadata"]["namespace"] == "ml")
    return {metadata["name"]: metadata["uid"] for metadata in ours}


def versions(project: Project) -> set[str]:
    """The versions of Istio by which its definitions on the cluster were written."""
    return {
        item["metadata"]["annotations"]["inferfleet.dev/addon-version"]
        for item in project.items("east", DEFINITION)
        if item["metadata"]["name"].endswith(".istio.io")
    }


def defining(operations: Operations) -> Operations:
    return {name: done for name, done in operations.items() if name.startswith(DEFINITION)}


def changed(project: Project, istio: str) -> tuple[Operations, Operations]:
    """What a preview says of another version, and what the update does, under streams of which none ends."""
    render(project, istio)
    said = project.preview()
    assert said.code == 0, said.output
    before, address = pods(project), url(project, "east", "ml/chat")
    with going_on(lambda: ask(address, stream=True)) as answers:
        done = project.up()
    assert done.code == 0, done.output
    assert {answer.status for answer in answers} == {200}
    assert pods(project) == before
    return said.operations, done.operations


def test_one_update_leads_from_an_empty_cluster_to_an_answer(empty: Project, first: Run) -> None:
    assert set(first.operations.values()) == {"create"}
    assert {"istio", "gatewayAPI", "inferenceExtension", "leaderWorkerSet"} <= {
        name.split("/")[1] for name in first.operations if name.startswith(("Deployment", DEFINITION))
    }
    assert ask(url(empty, "east", "ml/chat")).status == 200


def test_an_update_without_a_change_changes_nothing(empty: Project, first: Run) -> None:
    assert empty.preview().operations == {}


def test_an_upgrade_changes_what_its_preview_says_and_no_stream_ends(empty: Project, first: Run) -> None:
    said, done = changed(empty, NEW)
    assert said == done
    assert f"Deployment {ISTIO}/istio-system/istiod" in done
    assert {name.partition(" ")[2].startswith(f"{ISTIO}/") for name in done} == {True}
    assert versions(empty) == {NEW}


def test_going_back_leaves_definitions_as_new_as_they_are(empty: Project, first: Run) -> None:
    said, done = changed(empty, OLD)
    assert said == done
    assert f"Deployment {ISTIO}/istio-system/istiod" in done
    assert defining(done) == {}
    assert versions(empty) == {NEW}
    assert empty.preview().operations == {}


def test_the_end_leaves_definitions_and_objects_of_others(empty: Project, first: Run) -> None:
    names = {item["metadata"]["name"] for item in empty.items("east", DEFINITION)}
    done = empty.destroy()
    assert done.code == 0, done.output
    assert empty.state() == []
    assert {item["metadata"]["name"] for item in empty.items("east", DEFINITION)} == names
    left = {item["metadata"]["name"] for item in empty.items("east", "deployments")}
    assert not left & {"istiod", "lws-controller-manager"}
    assert empty.destroy().operations == {}
