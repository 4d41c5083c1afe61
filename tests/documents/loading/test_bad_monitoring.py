"""Every kind of mistake in what a document says of monitoring, and its message."""

from collections.abc import Callable
from pathlib import Path

import pytest
from fleet_text import BASE

from inferfleet.documents import Problem, Where, load

# What is written into `serving`; then path, what, next step of the one problem that makes.
CASES = {
    "nothing to scrape": (
        "monitoring: {interval: 15s}",
        "spec.serving.monitoring", "monitoring says neither how engines nor how pickers are scraped",
        "Write one of both",
    ),
    "kind that is none for engines": (
        "monitoring: {engines: ServiceMonitor}",
        "spec.serving.monitoring.engines", "engines 'ServiceMonitor' is not one of PodMonitor, PodMonitoring",
        "Choose one: PodMonitor, PodMonitoring",
    ),
    "interval without a unit": (
        "monitoring: {engines: PodMonitor, interval: 15}",
        "spec.serving.monitoring.interval", "interval 15 has no unit", "Write it like 90s, 30m or 2h",
    ),
    "label of ours": (
        "monitoring: {engines: PodMonitor, labels: {inferfleet.dev/stack: mine}}",
        'spec.serving.monitoring.labels["inferfleet.dev/stack"]',
        "labels under inferfleet.dev/ are reserved for inferfleet", "Remove it, or use a prefix of your own",
    ),
    "labels of no object": (
        "metricsAuth: false, monitoring: {pickers: Annotations, labels: {release: kube}}",
        "spec.serving.monitoring.labels",
        "labels are for objects, and there are none: pickers are scraped by annotations", "Remove them",
    ),
    "annotations that nobody may follow": (
        "monitoring: {pickers: Annotations}",
        "spec.serving.monitoring", "pickers are scraped by annotations, and nobody may read their metrics",
        "Add monitoring.scraper, or metricsAuth: false",
    ),
    "policy that lets nobody in": (
        "monitoring: {engines: PodMonitor}, networkPolicy: {gatewayNamespace: edge}",
        "spec.serving.monitoring", "networkPolicy lets nobody read the metrics that monitoring has scraped",
        "Add networkPolicy.monitoring or monitoring.scraper",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_in_monitoring_is_told_like_every_other(
    problems_in: Callable[..., list[Problem]], case: str
) -> None:
    written, path, what, next_step = CASES[case]
    assert BASE.count("serving: {") == 1
    [problem] = problems_in(BASE.replace("serving: {", f"serving: {{{written}, "))
    assert (problem.where, problem.path, problem.what, problem.next_step) == (
        Where("a.yaml", 15),
        path,
        what,
        next_step,
    )


@pytest.mark.parametrize(
    "written",
    [
        "monitoring: {pickers: Annotations, scraper: {namespace: watch, serviceAccount: prometheus}}",
        "monitoring: {pickers: PodMonitoring}, networkPolicy: {gatewayNamespace: edge}",
        "monitoring: {engines: PodMonitor}, networkPolicy: {gatewayNamespace: edge, monitoring: {}}",
    ],
)
def test_who_scrapes_may_be_said_in_more_than_one_way(tmp_path: Path, written: str) -> None:
    (tmp_path / "a.yaml").write_text(BASE.replace("serving: {", f"serving: {{{written}, "))
    assert load([tmp_path]).clusters["east"].spec.serving.monitoring
