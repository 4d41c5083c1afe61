"""`inferfleet classes`: the list, what is found in it, and one class in full."""

import pytest
import yaml
from small_project import CLASS, Project

MADE = """\
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: gke-a3}
spec:
  description: H100, 8 per node
  node: {cpu: 207410m, memory: 1827Gi}
  devices:
    - name: gpu
      driver: gpu.nvidia.com
      deviceClassName: gpu.nvidia.com
      count: 8
      attributes: {productName: {string: NVIDIA H100 80GB HBM3}, architecture: {string: Hopper}}
      capacity: {memory: {value: 81559Mi}}
    - {name: nic, driver: dra.net, claim: Synthetic, count: 8}
  price: {onDemand: 80, currency: USD, asOf: 2026-04-14, source: a list}
  provisioning:
    provider: GKE
    gke: {machineType: a3-highgpu-8g, accelerator: {type: nvidia-h100-80gb, count: 8}}
---
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: eks-l40}
spec:
  node: {cpu: 16, memory: 64Gi}
  devices:
    - name: gpu
      driver: gpu.nvidia.com
      deviceClassName: gpu.nvidia.com
      attributes: {productName: {string: NVIDIA L40}}
      capacity: {gpu.nvidia.com/memory: {value: 46068Mi}}
  provisioning: {provider: EKS, eks: {instanceType: g6e.4xlarge}}
---
apiVersion: inferfleet.dev/v1alpha1
kind: InferenceClass
metadata: {name: other}
spec:
  node: {cpu: 4, memory: 8Gi}
  devices: [{name: fpga, driver: fpga.example.com, claim: Synthetic}]
"""


def test_classes_are_a_table(project: Project) -> None:
    ran = project.run("classes")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "classes\n"
        "name  devices per node  cores  memory  nodes by  machine type  capacity models  description\n"
        "l4    2 gpu of 24Gi     16     64Gi                                             L4, 2 per node\n"
    )


def test_slices_are_named_by_their_resource(project: Project) -> None:
    shorthand = "  resources: {gpu: {count: 2, memory: 24Gi}}\n"
    slices = "  devices: [{name: gpu, driver: gpu.nvidia.com, resource: nvidia.com/gpu.shared, count: 8}]\n"
    assert shorthand in CLASS
    project.write("classes/l4.yaml", CLASS.replace(shorthand, slices))
    assert "l4    8 nvidia.com/gpu.shared  16 " in project.run("classes").out


def test_a_class_with_a_recipe_says_who_makes_its_nodes_and_how_they_can_be_had(project: Project) -> None:
    project.write("classes/made.yaml", MADE)
    lines = project.run("classes").out.splitlines()
    assert [[cell.strip() for cell in line.split("  ") if cell] for line in lines[2:]] == [
        ["eks-l40", "1 gpu of 45Gi", "16", "64Gi", "EKS"],
        [
            "gke-a3",
            "8 gpu of 79.6Gi, 8 nic",
            "207.41",
            "1827Gi",
            "GKE",
            "a3-highgpu-8g",
            "OnDemand Spot FlexStart Queued Reservation",
            "80 USD per node-hour",
            "H100, 8 per node",
        ],
        ["l4", "2 gpu of 24Gi", "16", "64Gi", "L4, 2 per node"],
        ["other", "1 fpga", "4", "8Gi"],
    ]


def test_what_sources_disagree_on_is_marked_and_what_is_not_offered_left_out(project: Project) -> None:
    project.write("classes/made.yaml", MADE.replace("a3-highgpu-8g", "a3-highgpu-1g"))
    out = project.run("classes").out
    assert "  Spot FlexStart Queued Reservation?  " in out
    assert out.endswith("\n\n?: sources disagree on whether Google offers it, or only a weak one says so\n")


@pytest.mark.parametrize(
    ("search", "names"),
    [
        (["--gpu", "L4"], ["l4"]),
        (["--gpu", "h100 hopper"], ["gke-a3"]),
        (["--gpu", "A3"], ["gke-a3"]),
        (["--count", "2"], ["l4"]),
        (["--min-memory", "45068Mi"], ["eks-l40", "gke-a3"]),
        (["--min-memory", "80Gi"], []),
        (["--provider", "gke"], ["gke-a3"]),
        (["--provider", "EKS"], ["eks-l40"]),
        (["--provider", "none"], ["l4", "other"]),
        (["--provider", "none", "--count", "1"], []),
        ([], ["eks-l40", "gke-a3", "l4", "other"]),
    ],
)
def test_a_search_finds_whole_words_numbers_and_providers(
    project: Project, search: list[str], names: list[str]
) -> None:
    project.write("classes/made.yaml", MADE)
    ran = project.run("classes", *search, "--json")
    assert (ran.code, [class_["metadata"]["name"] for class_ in ran.json["classes"]]) == (0, names)


def test_a_search_without_a_find_is_no_failure(project: Project) -> None:
    ran = project.run("classes", "--gpu", "H900")
    assert (ran.code, ran.out, ran.err) == (0, "no class matches\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--min-memory", "80GG"], "'80GG' is not a Kubernetes quantity"),
        (["--count", "0"], "'--count'"),
        (["--provider", "GCP"], "'GCP' is not one of"),
        (["l4", "--gpu", "L4"], "name classes or search for them, not both"),
    ],
)
def test_a_search_that_makes_no_sense_is_a_wrong_call(project: Project, words: list[str], said: str) -> None:
    ran = project.run("classes", *words)
    assert (ran.code, said.lower() in " ".join(ran.err.replace("│", "").split()).lower()) == (2, True)


def test_a_named_class_is_shown_in_full_and_reads_back_as_the_same_class(project: Project) -> None:
    project.write("classes/made.yaml", MADE)
    for name in ("l4", "gke-a3", "eks-l40"):
        shown = yaml.safe_load(project.run("classes", name).out)
        again = project.run("classes", name, str(project.write("more/one.yaml", yaml.safe_dump(shown))))
        assert (yaml.safe_load(again.out), f"class {name} replaces" in again.err) == (shown, True)
        assert project.run("classes", name, "--json").json["classes"] == [shown]


def test_classes_of_further_documents_are_known_and_unknown_ones_named(project: Project) -> None:
    extra = project.write("more/l40.yaml", CLASS.replace("name: l4", "name: l40"))
    assert "l40 " in project.run("classes", str(extra)).out
    ran = project.run("classes", "l40")
    assert (ran.code, ran.err.splitlines()[0][:24]) == (1, "there is no class 'l40'.")


def test_a_class_beside_the_stack_takes_the_place_of_the_catalogues_with_a_notice(project: Project) -> None:
    project.write("stacks/prod/l4.yaml", CLASS.replace("count: 2", "count: 4"))
    ran = project.run("classes")
    assert (ran.code, ran.out.splitlines()[2][:21]) == (0, "l4    4 gpu of 24Gi  ")
    assert ran.err == (
        "notice: stacks/prod/l4.yaml:3: metadata.name: class l4 replaces the one in the catalogue "
        "at classes/l4.yaml:3. Rename it if this is not intended\n\n1 notice\n"
    )
