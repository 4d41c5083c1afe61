"""What came of conformance suites is read from what they print, and stands beside what others published."""

import json
from datetime import UTC, datetime
from pathlib import Path

from bench.conformance import differences, outcomes, replaced
from bench.conformance_page import RESULTS, asked, days, page, published
from bench.conformance_reports import CORE, GKE, GKE_UNCOUNTED, ISTIO

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


def test_googles_report_counts_the_tests_that_its_figures_have() -> None:
    needs = json.loads(RESULTS.read_text())["needs"]["gateway-conformance"]
    counted = [test for test in asked(needs) if published(needs[test], GKE, GKE_UNCOUNTED) == "yes"]
    core = [test for test in counted if set(needs[test]) <= CORE]
    # 36 with the three tests of the core that came after v1.5.0.
    assert (len(core) + 3, len(counted) - len(core)) == (36, 11)


def test_a_run_replaces_what_came_of_the_last_one() -> None:
    before = {
        "suite": {"istio": {"A": "PASS", "Gone": "PASS"}, "built-in": {"A": "FAIL"}},
        "dates": {"suite": {"istio": "2026-01-01", "built-in": "2026-01-02"}},
        "needs": {"suite": {"A": ["Old"]}},
    }
    today = datetime.now(UTC).date().isoformat()
    after = replaced(before, "suite", "istio", needs={"A": ["New"]}, found={"A": "PASS"})
    assert after == {
        "suite": {"istio": {"A": "PASS"}, "built-in": {"A": "FAIL"}},
        "dates": {"suite": {"istio": today, "built-in": "2026-01-02"}},
        "needs": {"suite": {"A": ["New"]}},
    }
    assert days(after["dates"]) == f"2026-01-02 to {today}"


def test_what_came_out_otherwise_than_before_is_named() -> None:
    before, found = {"A": "PASS", "B": "FAIL", "Gone": "PASS"}, {"A": "FAIL", "B": "FAIL", "New": "PASS"}
    a = "  istio A: was PASS, is FAIL"
    others = ["  istio Gone: was PASS, is not run", "  istio New: was not run, is PASS"]
    assert differences(before, found, test=None, where="istio") == [a, *others]
    assert differences(before, {"A": "FAIL"}, test="A", where="istio") == [a]
    assert differences(before, before, test=None, where="istio") == []
