"""Defaults of pods come by levels: new deployments begin with the last, and no upgrade restarts others."""

from dataclasses import replace
from typing import Any

import pytest
from small_stack import NOTHING, cluster, deployment, lock, stack

from inferfleet.api.documents import Documents
from inferfleet.desired import desired
from inferfleet.desired.gate import announcements
from inferfleet.desired.values import Desired
from inferfleet.fleet.lock.lock import Lock, parse, text

# What a lock has of a deployment that an earlier version placed.
BEFORE = lock({"a east/l4": 1})
AT_TWO = replace(BEFORE, pod_defaults={"ml/a": 2})


def _documents(*names: str, settings: dict[str, Any] | None = None, **spec: Any) -> Documents:
    made = [deployment(name, **(spec if name == "a" else {})) for name in names or ("a",)]
    return stack(cluster("east"), *made, **(settings or {}))


def _levels(made: Desired) -> dict[str, int]:
    """1 for deployments whose engines may have capabilities; of those that drop them 3 where their pickers
    are smaller than that of the profile, 2 for the others.
    """
    dropped: dict[str, bool] = {}
    cores: dict[str, str] = {}
    for cluster_ in made.clusters:
        for placed in cluster_.objects:
            if placed.kind == "Deployment":
                name = placed.kubernetes_name.partition("-")[0]
                [container] = placed.manifest["spec"]["template"]["spec"]["containers"]
                if placed.kubernetes_name.endswith("-epp"):
                    cores[name] = container["resources"]["requests"]["cpu"]
                else:
                    dropped[name] = "securityContext" in container
    levels = {(False, "4"): 1, (True, "4"): 2, (True, "500m"): 3}
    return {name: levels[dropped[name], cores[name]] for name in cores}


@pytest.mark.parametrize(
    ("documents", "before", "levels"),
    [
        (_documents(), NOTHING, {"a": 3}),
        (_documents(), BEFORE, {"a": 1}),
        (_documents("a", "b"), BEFORE, {"a": 1, "b": 3}),
        (_documents(podDefaults=2), BEFORE, {"a": 2}),
        (_documents(podDefaults=3), BEFORE, {"a": 3}),
        (_documents(podDefaults=1), NOTHING, {"a": 1}),
        (_documents(podDefaults=2), NOTHING, {"a": 2}),
        (_documents(settings={"podDefaults": 2}), BEFORE, {"a": 2}),
        (_documents(settings={"podDefaults": "3"}), BEFORE, {"a": 3}),
        (_documents(settings={"podDefaults": 3}, podDefaults=1), BEFORE, {"a": 1}),
        (_documents(), AT_TWO, {"a": 2}),
        (_documents(), replace(BEFORE, pod_defaults={"ml/a": 3}), {"a": 3}),
    ],
)
def test_a_deployment_keeps_the_level_with_which_it_began(
    documents: Documents, before: Lock, levels: dict[str, int]
) -> None:
    made = desired(documents, before)
    assert _levels(made) == levels
    written = text(made.plan.lock)
    again = desired(documents, parse(written, file="placement.lock", stack="test"))
    assert (_levels(again), text(again.plan.lock)) == (levels, written)


def test_the_lock_of_a_stack_that_runs_stays_as_it_is() -> None:
    assert text(desired(_documents(), BEFORE).plan.lock) == text(
        replace(BEFORE, clusters=desired(_documents(), BEFORE).plan.lock.clusters)
    )


@pytest.mark.parametrize(
    ("documents", "before", "told"),
    [
        (_documents(), BEFORE, []),
        (_documents(), AT_TWO, []),
        (_documents("a", "b"), BEFORE, []),
        (
            _documents(podDefaults=3),
            BEFORE,
            [("warning", "pods and pickers of ml/a restart, because their defaults come to level 3")],
        ),
        (
            _documents(podDefaults=3),
            AT_TWO,
            [
                (
                    "notice",
                    "defaults of ml/a come to level 3, which is another one for pickers alone: those that "
                    "request other resources are replaced, and no pod of an engine restarts",
                )
            ],
        ),
    ],
)
def test_what_restarts_for_its_defaults_is_told_before(
    documents: Documents, before: Lock, told: list[tuple[str, str]]
) -> None:
    said = announcements(desired(documents, before), documents, before, locked=False, preview=True)
    assert [(one.severity, one.what) for one in said if "defaults" in one.what] == told


def test_pods_of_engines_are_the_same_at_the_levels_two_and_three() -> None:
    def engines(level: int) -> list[object]:
        made = desired(_documents(podDefaults=level), BEFORE).clusters[0].objects
        return [placed for placed in made if not placed.kubernetes_name.endswith("-epp")]

    assert engines(2) == engines(3) != engines(1)


@pytest.mark.parametrize(("level", "said"), [(True, "true"), ("3", "'3'"), (1.0, "1.0"), (None, "")])
def test_a_document_says_its_level_as_a_number(level: Any, said: str) -> None:
    if not said:
        deployment("a", podDefaults=level)
        return
    with pytest.raises(ValueError, match=f"{said} is no level of defaults. Write the number 1, 2 or 3"):
        deployment("a", podDefaults=level)


def test_a_setting_says_its_level_as_pulumi_config_writes_it() -> None:
    assert stack(podDefaults="3").settings.pod_defaults == 3
    with pytest.raises(ValueError, match="true is no level of defaults"):
        stack(podDefaults=True)
