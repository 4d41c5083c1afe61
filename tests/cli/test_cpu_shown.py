"""Verbs show deployments without accelerators as `cpu`."""

from small_project import LOCK, Project


def test_plan_explain_and_classes_say_cpu(project: Project) -> None:
    project.edit("classes/l4.yaml", "  resources: {gpu: {count: 2, memory: 24Gi}}\n", "")
    project.edit("stacks/prod/models.yaml", "  replicas: 1\n", "  replicas: 1\n  accelerator: None\n")
    project.write("stacks/prod/placement.lock", LOCK)
    planned, explained = project.run("plan"), project.run("explain", "qwen")
    assert (planned.code, explained.code) == (0, 0)
    warned = "the pods have accelerator: None and request neither cpu nor memory"
    assert planned.err.count(warned) == 1
    assert planned.err.splitlines()[-1] == "1 warning"
    assert planned.out.splitlines()[1:3] == [
        "deployment  cluster  pools      replicas  GPUs",
        "ml/qwen     east     decode=l4         1   cpu",
    ]
    assert explained.out.splitlines()[2:9] == [
        "GPUs per pod     none (accelerator: None); 0 cores and 0Gi of memory",
        "pods per worker     1 = pipeline 1 x data 1 / dataLocal 1",
        "pods per replica    1 = 1 per worker x 1 worker",
        "",
        "placements",
        "cluster  pools      replicas  in the lock  GPUs  class  waits at most",
        "east     decode=l4         1            1   cpu  l4     48 min",
    ]
    rendered = project.run("render")
    assert (rendered.code, "nvidia.com/gpu:" in rendered.out) == (0, False)
    listed = project.run("classes", "--provider", "none").out.splitlines()
    assert [line.split()[:2] for line in listed if line.startswith("l4 ")] == [["l4", "cpu"]]
