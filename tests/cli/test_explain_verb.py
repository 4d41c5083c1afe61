from small_project import DEPLOYMENT, LOCK, NO_LOCK_VALUES, Project


def test_explain_tells_shape_placements_plugins_and_reasons(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    ran = project.run("explain", "qwen")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "ml/qwen: 1 of 1 replicas placed\n"
        "\n"
        "GPUs per pod        1 = tensor 1 x dataLocal 1\n"
        "pods per worker     1 = pipeline 1 x data 1 / dataLocal 1\n"
        "pods per replica    1 = 1 per worker x 1 worker\n"
        "GPUs per replica    1 = 1 x 1\n"
        "\n"
        "placements\n"
        "cluster  pools      replicas  in the lock  GPUs  class  waits at most\n"
        "east     decode=l4         1            1     1  l4     48 min\n"
        "\n"
        "east/l4, role decode: plugin demo-pod-tweaks 1.0.0 (deployment chain, spec.plugins[0])\n"
        '  spec.containers[engine].env[LOG]: {"name": "LOG", "value": "info"} (new)\n'
        "\n"
        "reached under /ml/deployments/qwen/\n"
        "services that select it: ml/chat\n"
    )


def test_explain_says_the_same_to_machines(project: Project) -> None:
    ran = project.run("explain", "ml/qwen", "--json")
    (placement,) = ran.json["placements"]
    (role,) = placement.pop("roles")
    (step,) = role.pop("plugins")
    shape = {
        "gpusPerPod": 1,
        "podsPerWorker": 1,
        "workersPerReplica": 1,
        "gpusPerReplica": 1,
        "sparePodsPerPlacement": 0,
    }
    assert ran.json | {"placements": [placement]} == {
        "problems": [],
        "warnings": [NO_LOCK_VALUES],
        "notices": [],
        "deployment": "ml/qwen",
        "replicas": 1,
        "shape": shape,
        "roles": {"decode": shape | {"acrossNodes": []}},
        "withPlugins": [],
        "placements": [
            {
                "deployment": "ml/qwen",
                "cluster": "east",
                "pools": {"decode": "l4"},
                "replicas": 1,
                "before": 0,
                "runnerUp": None,
            }
        ],
        "elsewhere": [],
        "unplaced": 0,
        "whyUnplaced": None,
        "services": ["ml/chat"],
        "held": [],
    }
    assert role == {
        "role": "decode",
        "class": "l4",
        "pods": 1,
        "gpus": 1,
        "awaitSeconds": role["awaitSeconds"],
        "commands": [],
        "followerPlugins": [],
    }
    assert step | {"config": "x"} == {
        "plugin": "demo-pod-tweaks",
        "version": "1.0.0",
        "effect": "changed",
        "remarks": [],
        "origin": "deployment",
        "path": "spec.plugins[0]",
        "config": "x",
        "changes": [
            {
                "path": "spec.containers[engine].env[LOG]",
                "before": None,
                "after": {"name": "LOG", "value": "info"},
            }
        ],
        "companions": [],
        "injected": {},
        "readyHook": None,
    }


def test_why_a_replica_has_no_place_is_explained(project: Project) -> None:
    project.edit("stacks/prod/models.yaml", "replicas: 1", "replicas: 3")
    ran = project.run("explain", "qwen")
    assert ran.code == 0
    assert "ml/qwen: 2 of 3 replicas placed" in ran.out
    assert "1 without a place\ncluster  pool  why not\neast     l4    " in ran.out


def test_a_name_must_be_known_and_unique(project: Project) -> None:
    assert project.run("explain", "qwem").err.startswith("there is no deployment or GKE pool 'qwem'. ")
    project.write("stacks/prod/other.yaml", DEPLOYMENT.replace("namespace: ml", "namespace: web"))
    ran = project.run("explain", "qwen")
    assert (ran.code, ran.err.splitlines()[0]) == (
        1,
        "deployment 'qwen' is in several namespaces. Name one of ml/qwen, web/qwen",
    )


def test_explain_says_first_what_is_paused(project: Project) -> None:
    project.write("stacks/prod/placement.lock", LOCK)
    project.edit("stacks/prod/models.yaml", "  replicas: 1", "  paused: true\n  replicas: 2")
    project.edit("stacks/prod/clusters.yaml", "spec:", "spec:\n  state: lost")
    paused = ["paused: nothing of it changes", "cluster east is lost: nothing of it changes there"]
    assert project.run("explain", "qwen").out.splitlines()[:3] == ["ml/qwen: 1 of 2 replicas placed", *paused]
    assert project.run("explain", "qwen", "--json").json["held"] == paused
