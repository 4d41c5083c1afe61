"""A few hundred random inputs with a fixed seed; `make fuzz COUNT=100000 SEED=2` tries more."""

from pathlib import Path

import pytest
from campaign import run
from cases import KINDS, PROJECT, SECRET, Case, from_text, make
from outcomes import outcome_of, text_faults


@pytest.mark.parametrize("kind", KINDS)
def test_random_inputs_end_as_they_should(kind: str) -> None:
    campaign = run(seed=20, count=30, kinds=(kind,))
    assert [(case.number, outcome.faults) for case, outcome in campaign.faults] == []


def test_the_project_without_changes_is_valid() -> None:
    assert outcome_of(Case("none", 0, {}, ("validate",))).name == "fine"


def test_an_input_is_made_again_from_its_seed_and_from_its_file() -> None:
    cases = [make(3, number) for number in range(24)]
    assert cases == [make(3, number) for number in range(24)]
    assert [from_text(case.as_text()) for case in cases] == cases


@pytest.mark.parametrize(
    "text",
    [
        "a \x1b[1m b",
        "a\u2028b",
        "x\n  ::error::y",
        "##vso[x]",
        "1 validation error for Model [type=missing, input_value={}]",
        "did not find expected key",
        "<class 'celpy.celtypes.IntType'>",
    ],
)
def test_what_must_not_be_printed_is_found(text: str) -> None:
    assert len(list(text_faults(text))) == 1


def test_a_leak_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    models = PROJECT["stacks/prod/models.yaml"].replace("ml,", f"{SECRET}X,")
    outcome = outcome_of(Case("none", 0, {"stacks/prod/models.yaml": models}, ("validate",)))
    assert "quotes a secret" in outcome.faults


def test_a_hang_and_an_exception_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def spin(path: Path) -> None:
        while True:
            pass

    def fail(path: Path) -> None:
        raise KeyError("x")

    monkeypatch.setattr("outcomes.LIMIT", 0.2)
    monkeypatch.setattr("inferfleet.cli.source.find_root", spin)
    assert outcome_of(Case("none", 0, {}, ("validate",))).faults[0] == "takes longer than 0.2 s"
    monkeypatch.setattr("inferfleet.cli.source.find_root", fail)
    assert "KeyError: 'x'" in outcome_of(Case("none", 0, {}, ("validate",))).faults[0]
