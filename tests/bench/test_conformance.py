"""What came of conformance suites is read from what they print, and stands beside what others published."""

import json
from pathlib import Path

from bench.conformance import outcomes
from bench.conformance_page import RESULTS, page, published
from bench.conformance_reports import GKE, ISTIO

ROOT = Path(__file__).parents[2]


def test_what_came_of_a_test_is_that_of_the_test_and_not_of_its_parts() -> None:
    printed = """=== RUN   TestConformance/HTTPRouteWeight
--- FAIL: TestConformance (12.00s)
    --- PASS: TestConformance/HTTPRouteWeight (1.25s)
        --- PASS: TestConformance/HTTPRouteWeight/80_20 (1.20s)
    --- SKIP: TestConformance/UDPRoute (0.00s)
    --- FAIL: TestConformance/HTTPRouteCORS (10.50s)
        --- FAIL: TestConformance/HTTPRouteCORS/origin (10.40s)
"""
    assert outcomes(printed.splitlines(keepends=True)) == {
        "HTTPRouteWeight": "PASS",
        "UDPRoute": "SKIP",
        "HTTPRouteCORS": "FAIL",
    }


def test_a_report_has_the_tests_of_its_features_and_of_the_core() -> None:
    assert published(["Gateway", "HTTPRoute"], GKE) == "yes"
    assert published(["Gateway", "HTTPRoute", "HTTPRouteRequestTimeout"], ISTIO) == "yes"
    assert published(["Gateway", "HTTPRoute", "HTTPRouteRequestTimeout"], GKE) == "no HTTPRouteRequestTimeout"


def test_the_page_is_that_of_the_results() -> None:
    assert (ROOT / "docs" / "conformance.md").read_text() == page(json.loads(RESULTS.read_text()))
