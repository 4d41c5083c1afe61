"""What the state remembers of ready hooks, as components register it."""

from one_ready_hook import WORKLOAD, hook_of
from recording import own, run

from inferfleet.desired.values import Component, Connection, Desired, DesiredCluster, KubeObject, ReadyHook
from inferfleet.fleet.decisions import Plan
from inferfleet.plugins.contract import Ready

STASH = ("pulumi:index:Stash", "east/ml/web-decode-h100/registrar")


def _greet(ready: Ready, config: object) -> None: ...


def _desired(hook: ReadyHook) -> Desired:
    component = Component("ModelReplicas", "east/ml/web-h100", (WORKLOAD,), (hook,))
    cluster = DesiredCluster(Connection("east", "existing/east", "active"), (component,))
    return Desired("local", (cluster,), Plan(), frozenset(), ())


def test_the_state_remembers_the_template_once_the_hook_ran_after_the_workload() -> None:
    recorder, monitor = run(_desired(hook_of(_greet)), preview=False)
    request = monitor.requests[STASH]
    assert recorder.inputs[STASH] == {"input": "template 0123456789ab"}
    assert [own(urn) for urn in request.dependencies] == [("kubernetes:apps/v1:Deployment", WORKLOAD.name)]
    assert own(request.parent) == ("inferfleet:components:ModelReplicas", "east/ml/web-h100")
    assert (list(request.hooks.before_create), list(request.hooks.before_update)) == ([STASH[1]],) * 2
    assert not monitor.hooks[STASH[1]].ignore_errors
    assert recorder.outputs["ready"] == {WORKLOAD.name: {"registrar": "template 0123456789ab"}}


def test_a_held_hook_is_not_bound_and_what_was_remembered_stays() -> None:
    recorder, monitor = run(_desired(hook_of(_greet, held=True)), preview=False)
    request = monitor.requests[STASH]
    assert recorder.inputs[STASH] == {"input": "not told yet"}
    assert list(request.ignoreChanges) == ["input"]
    assert (list(request.hooks.before_create), list(request.hooks.before_update)) == ([], [])


def test_pods_of_a_group_are_listened_to_from_before_it_is_written_until_it_is_ready() -> None:
    awaited, not_awaited = ({"name": name, "namespace": "ml"} for name in ("kimi", "lazy"))
    not_awaited["annotations"] = {"pulumi.com/skipAwait": "true"}  # type: ignore[assignment]
    kind = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    objects = tuple(
        KubeObject(f"east/ml/{metadata['name']}", {**kind, "metadata": metadata})
        for metadata in (awaited, not_awaited)
    )
    component = Component("ModelReplicas", "east/ml/kimi-l4", objects)
    cluster = DesiredCluster(Connection("east", "existing/east", "active"), (component,))
    _, monitor = run(Desired("local", (cluster,), Plan(), frozenset(), ()), preview=False)
    bound = {
        name: (list(request.hooks.before_create), list(request.hooks.after_update))
        for (_, name), request in monitor.requests.items()
        if name in ("east/ml/kimi", "east/ml/lazy")
    }
    key = objects[0].key
    assert bound == {
        "east/ml/kimi": ([f"{key}: listen"], [f"{key}: listened"]),
        "east/ml/lazy": ([], []),
    }
    # Listening fails with the program, and what became ready did not fail.
    heedless = {name: hook.ignore_errors for name, hook in monitor.hooks.items()}
    assert heedless == {f"{key}: listen": True, f"{key}: listened": True}


def test_a_preview_shows_which_hooks_an_update_calls() -> None:
    previewed, updated = (run(_desired(hook_of(_greet)), preview=preview)[0] for preview in (True, False))
    assert previewed.inputs == updated.inputs
