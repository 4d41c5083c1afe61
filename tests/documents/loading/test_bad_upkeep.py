"""Every kind of mistake in maintenance, upgrades and disks of images, and its message."""

from collections.abc import Callable

import pytest
from fleet_text import Mistake
from test_bad_gke_documents import BASE, GKE, POOL, RECIPE

from inferfleet.documents import Documents, Problem, Where

POLICY = '      maintenancePolicy: {dailyMaintenanceWindow: {startTime: "09:00"}, maintenanceExclusions: '

# What is replaced, by what; then line, path, what, next step of the one problem that makes.
CASES = {
    "two windows": (
        GKE, GKE + "      maintenancePolicy: {dailyMaintenanceWindow: {startTime: 09:00}, recurringWindow: "
        "{startTime: 2026-12-05T01:00:00Z, endTime: 2026-12-05T07:00:00Z, recurrence: FREQ=DAILY}}\n",
        20, "spec.cluster.gke.maintenancePolicy",
        "a maintenancePolicy has either dailyMaintenanceWindow or recurringWindow", "Remove one",
    ),
    "exclusions without a window": (
        GKE, GKE + "      maintenancePolicy: {maintenanceExclusions: []}\n",
        20, "spec.cluster.gke.maintenancePolicy",
        "a maintenancePolicy has either dailyMaintenanceWindow or recurringWindow",
        'Add dailyMaintenanceWindow: {startTime: "09:00"}',
    ),
    "a window of seconds": (
        GKE, GKE + "      maintenancePolicy: {dailyMaintenanceWindow: {startTime: 09:00:00}}\n",
        20, "spec.cluster.gke.maintenancePolicy.dailyMaintenanceWindow.startTime",
        "startTime '09:00:00' must be a time of day in GMT, in quotes, such as '09:00'", "Change it",
    ),
    "a window every hour": (
        GKE, GKE + "      maintenancePolicy: {recurringWindow: {startTime: 2026-12-05T01:00:00Z, endTime: "
        "2026-12-05T07:00:00Z, recurrence: FREQ=HOURLY}}\n",
        20, "spec.cluster.gke.maintenancePolicy.recurringWindow.recurrence",
        "recurrence 'FREQ=HOURLY' must be a rule of RFC 5545 such as FREQ=WEEKLY;BYDAY=SA,SU, not more often "
        "than daily", "Change it",
    ),
    "a day that is not": (
        GKE, GKE + POLICY + "[{name: a, scope: NO_UPGRADES, startTime: 2026-02-30T01:00:00Z, endTime: "
        "2026-03-05T01:00:00Z}]}\n",
        20, "spec.cluster.gke.maintenancePolicy.maintenanceExclusions[0].startTime",
        "startTime 2026-02-30T01:00:00Z is no moment in a calendar", "Change it",
    ),
    "an exclusion without an end": (
        GKE, GKE + POLICY + "[{name: a, scope: NO_UPGRADES, startTime: 2026-02-20T01:00:00Z}]}\n",
        20, "spec.cluster.gke.maintenancePolicy.maintenanceExclusions[0]",
        "exclusion a has either endTime or endTimeBehavior", "Write one",
    ),
    "an exclusion twice": (
        GKE, GKE + POLICY + "[&a {name: a, scope: NO_MINOR_UPGRADES, startTime: 2026-02-20T01:00:00Z, "
        "endTimeBehavior: UNTIL_END_OF_SUPPORT}, *a]}\n",
        20, "spec.cluster.gke.maintenancePolicy.maintenanceExclusions[1].name",
        "exclusion a is there twice", "Rename one",
    ),
    "no node at once": (
        POOL, POOL + ", upgradeSettings: {maxSurge: 0, maxUnavailable: 0}",
        21, "spec.nodePools[0].upgradeSettings",
        "maxSurge 0 and maxUnavailable 0 are 0 nodes at once", "Write 1 to 20 nodes for both together",
    ),
    "a surge of blue and green": (
        POOL, POOL + ", upgradeSettings: {strategy: BLUE_GREEN, maxSurge: 1}",
        21, "spec.nodePools[0].upgradeSettings",
        "maxSurge is for strategy SURGE, this one is BLUE_GREEN", "Remove maxSurge",
    ),
    "steps of blue and green for a surge": (
        POOL, POOL + ", upgradeSettings: {blueGreenSettings: {}}",
        21, "spec.nodePools[0].upgradeSettings",
        "blueGreenSettings are for strategy BLUE_GREEN, this one is SURGE",
        "Write strategy: BLUE_GREEN, or remove them",
    ),
    "batches and the autoscaler": (
        POOL, POOL + ", upgradeSettings: {strategy: BLUE_GREEN, blueGreenSettings: {"
        "standardRolloutPolicy: {}, autoscaledRolloutPolicy: {}}}",
        21, "spec.nodePools[0].upgradeSettings.blueGreenSettings",
        "a pool has either standardRolloutPolicy or autoscaledRolloutPolicy", "Remove one",
    ),
    "an image that is none": (
        RECIPE, "count: 1}, imageStreaming: true, secondaryBootDisks: [{diskImage: vllm}]}\n---",
        9, "spec.provisioning.gke.secondaryBootDisks[0].diskImage",
        "diskImage 'vllm' must be an image such as projects/acme-images/global/images/vllm-0-30", "Change it",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_is_told_with_place_value_rule_and_next_step(mistake: Mistake, case: str) -> None:
    old, new, line, *told = CASES[case]
    assert mistake(BASE, old, new) == (Where("a.yaml", line), *told)


@pytest.mark.parametrize("time", ['"09:00"', "'09:00'", "09:00"])
def test_a_time_of_day_is_what_is_written_with_and_without_quotes(
    load_text: Callable[..., Documents], time: str
) -> None:
    text = BASE.replace(
        GKE, f"{GKE}      maintenancePolicy: {{dailyMaintenanceWindow: {{startTime: {time}}}}}\n"
    )
    gke = load_text(text).clusters["east"].spec.cluster.gke
    assert gke
    assert gke.maintenance_policy
    assert gke.maintenance_policy.model_dump(by_alias=True) == {
        "dailyMaintenanceWindow": {"startTime": "09:00"},
        "recurringWindow": None,
        "maintenanceExclusions": (),
    }


def test_a_pool_of_an_existing_cluster_is_upgraded_by_somebody_else(
    problems_in: Callable[..., list[Problem]],
) -> None:
    block = f"    source: GKE\n    gke:\n      project: acme-prod\n{GKE}"
    text = BASE.replace(block, "    source: Existing\n    existing: {kubeconfig: {path: x}}\n")
    told = problems_in(text.replace(POOL, f"{POOL}, upgradeSettings: {{maxSurge: 1}}"))
    what = "upgradeSettings is for pools that inferfleet creates, and this cluster exists already"
    assert (what, "Remove upgradeSettings") in [(one.what, one.next_step) for one in told]
