"""What becomes of valid documents."""

from collections.abc import Callable
from pathlib import Path

import pytest

from inferfleet.documents import Documents, InvalidDocuments, Problem, Where, load
from inferfleet.documents.kinds.settings import Settings

API = "apiVersion: inferfleet.dev/v1alpha1\n"
CLASS = API + "kind: InferenceClass\nmetadata: {name: l4}\nspec:\n  node: {cpu: 8, memory: 32Gi}\n"
L4 = CLASS + "  resources: {gpu: {count: 1, memory: 24Gi}}\n"
L4_TWICE = CLASS + "  resources: {gpu: {count: 2, memory: 24Gi}}\n"
CLUSTER = API + (
    "kind: InferenceCluster\nmetadata: {name: east}\nspec:\n"
    "  cluster: {source: Existing, existing: {kubeconfig: {path: ../east.kubeconfig}}}\n"
    "  nodePools:\n    - name: l4\n      className: l4\n      nodeCount: 2\n"
    "  serving: {gateway: {className: istio}}\n"
)
DEPLOYMENT = API + (
    "kind: ModelDeployment\nmetadata: {name: qwen, namespace: ml}\nspec:\n  replicas: 1\n"
    "  workers:\n    topology: {tensor: 1}\n"
    "    template: {spec: {containers: [{name: engine, image: vllm}]}}\n"
)
SERVICE = API + "kind: ModelService\nmetadata: {name: coder}\nspec: {endpoints: [{selector: {}}]}\n"

Load = Callable[..., Documents]


def test_documents_of_all_kinds_are_found_by_their_keys(load_text: Load) -> None:
    documents = load_text("---\n".join([L4, CLUSTER, DEPLOYMENT, SERVICE]))
    assert {
        "classes": list(documents.classes),
        "clusters": list(documents.clusters),
        "deployments": list(documents.deployments),
        "services": list(documents.services),
    } == {"classes": ["l4"], "clusters": ["east"], "deployments": ["ml/qwen"], "services": ["default/coder"]}


def test_it_does_not_matter_how_documents_are_spread_over_files(load_text: Load) -> None:
    together = load_text("---\n".join([DEPLOYMENT, CLUSTER, L4]))
    assert load_text(L4, b=CLUSTER, c=DEPLOYMENT) == together


def test_every_field_has_its_line(load_text: Load) -> None:
    documents = load_text(L4, b=CLUSTER)
    lines = {
        path: documents.where("InferenceCluster", "east", path)
        for path in ("", "spec.nodePools[0].className", "spec.nodePools[0].taints[3].key", "spec.state")
    }
    assert lines == {
        "": Where("b.yaml", 1),
        "spec.nodePools[0].className": Where("b.yaml", 8),
        "spec.nodePools[0].taints[3].key": Where("b.yaml", 7),
        "spec.state": Where("b.yaml", 4),
    }


def test_a_kubeconfig_is_looked_up_from_the_folder_of_its_document(load_text: Load, tmp_path: Path) -> None:
    assert load_text(L4, b=CLUSTER).kubeconfig_path("east") == tmp_path.parent / "east.kubeconfig"


def test_a_kubeconfig_may_stand_in_the_home_folder(load_text: Load) -> None:
    documents = load_text(L4, b=CLUSTER.replace("../east", "~/.kube/east"))
    assert documents.kubeconfig_path("east") == Path.home() / ".kube/east.kubeconfig"


def test_a_kubeconfig_in_the_configuration_has_no_file(load_text: Load) -> None:
    documents = load_text(L4, b=CLUSTER.replace("path: ../east.kubeconfig", "configKey: east"))
    assert documents.kubeconfig_path("east") is None


def test_a_class_of_the_stack_takes_the_place_of_one_in_the_catalogue(tmp_path: Path) -> None:
    for folder, text in (("classes", L4), ("stack", L4_TWICE)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "l4.yaml").write_text(text)
    documents = load([tmp_path / "stack"], catalogue=tmp_path / "classes", base=tmp_path)
    assert documents.classes["l4"].spec.all_devices[0].count == 2
    assert documents.notices == (
        Problem(
            "class l4 replaces the one in the catalogue at classes/l4.yaml:3",
            "Rename it if this is not intended",
            "metadata.name",
            Where("stack/l4.yaml", 3),
            kind="InferenceClass",
            key="l4",
            severity="notice",
        ),
    )


def test_the_catalogue_may_be_named_among_the_paths(tmp_path: Path) -> None:
    (tmp_path / "l4.yaml").write_text(L4)
    documents = load([tmp_path, tmp_path / "l4.yaml"], catalogue=tmp_path)
    assert (list(documents.classes), documents.notices) == (["l4"], ())


def test_the_catalogue_holds_nothing_but_classes(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SERVICE)
    with pytest.raises(InvalidDocuments) as raised:
        load([], catalogue=tmp_path, base=tmp_path)
    what = "the catalogue may contain InferenceClasses only, not ModelServices"
    next_step = "Move it to the documents of a stack"
    assert raised.value.problems == (
        Problem(what, next_step, "kind", Where("s.yaml", 2), kind="ModelService", key="default/coder"),
    )


def test_folders_are_read_to_the_bottom_without_hidden_and_foreign_files(tmp_path: Path) -> None:
    for name, text in {
        "a/b/deep.yml": L4,
        ".hidden/x.yaml": "broken: [",
        ".x.yaml": "broken: [",
        "Pulumi.dev.yaml": "config: {}",
        "Pulumi.yaml": "name: x",
        "placement.lock": "version: 1",
        "notes.txt": "broken: [",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert list(load([tmp_path], catalogue=None).classes) == ["l4"]


def test_an_empty_folder_is_fine(tmp_path: Path) -> None:
    assert load([tmp_path], catalogue=None) == Documents(Settings(stack="unnamed"))


def test_a_path_that_does_not_exist_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocuments) as raised:
        load([tmp_path / "nope", "x" * 300, "nul\0"], catalogue=None)
    assert [problem.next_step for problem in raised.value.problems] == ["Check the path"] * 3


def test_a_file_outside_the_current_folder_is_named_in_full(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(L4)
    documents = load([tmp_path], catalogue=None, base=tmp_path / "elsewhere")
    assert documents.where("InferenceClass", "l4") == Where(str(tmp_path / "a.yaml"), 1)


def test_services_may_select_by_labels_that_inferfleet_makes(load_text: Load) -> None:
    wanted = {"inferfleet.dev/cluster": "east"}
    text = SERVICE.replace("{selector: {}}", "{selector: {matchLabels: {inferfleet.dev/cluster: east}}}")
    selector = load_text(text).services["default/coder"].spec.endpoints[0].selector
    assert (selector.match_labels, selector.matches(wanted)) == (wanted, True)


def test_a_price_is_dated_without_quotes(load_text: Load) -> None:
    price = '  price: {onDemand: "0.85", currency: USD, asOf: 2026-04-14, source: list}\n'
    written = load_text(L4 + price).classes["l4"].spec.price
    assert written is not None
    assert written.as_of == "2026-04-14"


def test_a_pod_template_is_kept_as_it_was_written(load_text: Load) -> None:
    engine = "{name: engine, image: vllm, env: [{name: A, value: 'on'}]}"
    spec = f"{{containers: [{engine}], volumes: [{{name: v, emptyDir: {{medium: null}}}}]}}"
    text = DEPLOYMENT.replace("{containers: [{name: engine, image: vllm}]}", spec)
    assert load_text(text).deployments["ml/qwen"].spec.workers.template.spec == {
        "containers": [{"name": "engine", "image": "vllm", "env": [{"name": "A", "value": "on"}]}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }


def test_a_class_of_the_packaged_catalogue_has_a_name_instead_of_a_file(tmp_path: Path) -> None:
    """Where the package lies differs from machine to machine."""
    (tmp_path / "l4.yaml").write_text(L4.replace("name: l4}", "name: gke-a100-40-1x}"))
    documents = load([tmp_path], base=tmp_path)
    (notice,) = documents.notices
    assert notice.what == "class gke-a100-40-1x replaces the one in the catalogue"
    assert str(documents.where("InferenceClass", "gke-a100-40-2x", "spec")) == "catalogue: gke-a100-40-2x"
