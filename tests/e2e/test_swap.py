"""Two deployments swapped on a full pool, in one update."""

from documents import deployment
from project import Project

H100 = "NVIDIA H100 80GB HBM3"
NEW = {"Deployment west/ml/third-decode-h100", "Deployment west/ml/fourth-decode-h100"}


def test_a_swap_on_a_full_pool_is_announced_finishes_and_is_waited_for_next_time(project: Project) -> None:
    project.write("models", *(deployment(name, gpus=8, gpu=H100) for name in ("first", "second")))
    done = project.up()
    assert done.code == 0, done.output

    project.write("models", *(deployment(name, gpus=8, gpu=H100) for name in ("third", "fourth")))
    previewed = project.preview()
    assert previewed.code == 0, previewed.output
    announced = (
        "ml/third on west/h100 fits only once workloads that are leaving are gone, so this update does not "
        "wait for its pods (also ml/fourth on west/h100)"
    )
    assert announced in previewed.output
    swapped = project.up()
    assert swapped.code == 0, swapped.output
    assert {name for name, op in swapped.operations.items() if op == "create"} >= NEW
    assert swapped.operations == previewed.operations

    def pods() -> set[str]:
        serving = project.items("west", "pods", "-l", "inferfleet.dev/serves=true")
        return {pod["metadata"]["uid"] for pod in serving}

    started = pods()
    waited = project.up()
    assert waited.code == 0, waited.output
    assert waited.operations == dict.fromkeys(NEW, "update")
    assert all(paths[0].startswith("metadata.annotations") for paths in waited.changed.values())
    for name in ("third", "fourth"):
        [workload] = project.items(
            "west", "deployments", "-l", f"inferfleet.dev/deployment={name},inferfleet.dev/role"
        )
        assert workload["status"]["readyReplicas"] == 1
    assert pods() == started

    again = project.up()
    assert (again.code, again.operations) == (0, {}), again.output
