"""Maintenance policies that Google refuses, or may refuse."""

from typing import Any

import pytest
from recipe_text import pool, recipe, stack

from inferfleet.gke.pool import gke_clusters
from inferfleet.gke.recipes.check import recipe_problems

PATH = "spec.cluster.gke.maintenancePolicy"
WINDOWS = (
    "(GKE, maintenance windows, 2026-11-24: "
    "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/maintenance-window)"
)
SAMPLES = (
    "(terraform-docs-samples, gke, 2025-02-11: "
    "https://github.com/terraform-google-modules/terraform-docs-samples/tree/main/gke)"
)
DAILY = {"dailyMaintenanceWindow": {"startTime": "09:00"}}


def told(policy: dict[str, Any], *made: str) -> list[tuple[str, str, str]]:
    documents = stack({"p": pool(recipe("g2-standard-4"))}, maintenancePolicy=policy)
    return [
        (problem.severity, problem.path, problem.what)
        for problem in recipe_problems(documents, gke_clusters(documents), made)
    ]


def recurring(recurrence: str) -> dict[str, Any]:
    times = {"startTime": "2026-12-05T01:00:00Z", "endTime": "2026-12-05T05:00:00Z"}
    return {"recurringWindow": {**times, "recurrence": recurrence}}


def excluded(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"name": name, "scope": "NO_UPGRADES", "startTime": "2026-12-01T00:00:00Z", **fields}


def test_a_window_that_is_open_for_too_few_hours_is_refused_and_of_a_made_cluster_warned_about() -> None:
    what = (
        "cluster east has a window that is open for 0 hours in some 92 days; GKE asks for 48 hours in any 92 "
        f"days {WINDOWS}"
    )
    at = f"{PATH}.recurringWindow.recurrence"
    assert told(recurring("FREQ=YEARLY")) == [("error", at, what)]
    assert told(recurring("FREQ=YEARLY"), "east") == [("warning", at, what)]


def test_a_window_that_was_too_seldom_for_the_former_rule_is_warned_about() -> None:
    assert told(recurring("FREQ=WEEKLY;BYDAY=SA")) == [
        (
            "warning",
            f"{PATH}.recurringWindow.recurrence",
            "cluster east has a window that is open for 16 hours in some 32 days; GKE asks for 48 hours in "
            f"any 92 days, and asked for it in 32 days before {WINDOWS}",
        )
    ]


@pytest.mark.parametrize(
    ("fields", "severity", "field", "what"),
    [
        (
            {"endTimeBehavior": "UNTIL_END_OF_SUPPORT"},
            "error",
            "endTimeBehavior",
            f"until the end of support; GKE allows 30 days, and no source more than 90 {SAMPLES}",
        ),
        (
            {"endTime": "2027-12-01T00:00:00Z"},
            "error",
            "endTime",
            f"for 365 days; GKE allows 30 days, and no source more than 90 {SAMPLES}",
        ),
        (
            {"endTime": "2027-01-15T00:00:00Z"},
            "warning",
            "endTime",
            f"for 45 days; Google's samples say 30 at most {SAMPLES}, others 90",
        ),
    ],
)
def test_long_exclusions_of_all_upgrades_are_refused_or_warned_about(
    fields: dict[str, Any], severity: str, field: str, what: str
) -> None:
    policy = {**DAILY, "maintenanceExclusions": [excluded(**fields)]}
    at = f"{PATH}.maintenanceExclusions[0].{field}"
    whole = f"cluster east has exclusion a of scope NO_UPGRADES {what}"
    assert told(policy) == [(severity, at, whole)]
    assert told(policy, "east") == [("warning", at, whole)]


def test_a_fourth_exclusion_of_all_upgrades_is_warned_about() -> None:
    each = [excluded(name, endTime="2026-12-20T00:00:00Z") for name in "abcd"]
    assert [line[:2] for line in told({**DAILY, "maintenanceExclusions": each})] == [
        ("warning", f"{PATH}.maintenanceExclusions[3].scope")
    ]


@pytest.mark.parametrize(
    "policy",
    [
        DAILY,
        recurring("FREQ=DAILY"),
        recurring("FREQ=WEEKLY;BYDAY=SA,SU,MO;WKST=MO"),
        recurring("FREQ=MONTHLY;BYSETPOS=1;BYDAY=SA"),
        {**DAILY, "maintenanceExclusions": [excluded(endTime="2026-12-31T00:00:00Z")]},
        {
            **DAILY,
            "maintenanceExclusions": [
                excluded(scope="NO_MINOR_OR_NODE_UPGRADES", endTimeBehavior="UNTIL_END_OF_SUPPORT")
            ],
        },
    ],
)
def test_other_policies_are_taken(policy: dict[str, Any]) -> None:
    assert told(policy) == []
