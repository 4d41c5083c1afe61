"""One budget of work for all that a run does: several stacks, and both sides of a digest."""

import pytest
from small_project import Project

from inferfleet.documents import work


def steps_of(project: Project, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Return how many steps a run takes."""
    counted: list[int] = []
    count = work.count
    with monkeypatch.context() as patched:
        patched.setattr(work, "count", lambda steps: (counted.append(steps), count(steps)))
        project.run(*words)
    return sum(counted)


def test_the_same_run_takes_the_same_steps(committed: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (steps_of(committed, monkeypatch, "validate") for _ in range(2))
    assert first == second > 0


@pytest.mark.parametrize(("verb", "every"), [("validate", ["--all"]), ("digest", ["--base", "HEAD"])])
def test_what_no_stack_takes_alone_is_refused_for_all_together(
    committed: Project, monkeypatch: pytest.MonkeyPatch, verb: str, every: list[str]
) -> None:
    for file in ("clusters.yaml", "models.yaml"):
        committed.write(f"stacks/test/{file}", (committed.root / "stacks/prod" / file).read_text())
    single = [verb, "--stack", "prod", *(every if verb == "digest" else ())]
    alone = steps_of(committed, monkeypatch, *single)
    monkeypatch.setattr(work, "MAX_UNITS", alone + 1)
    refused = "the budget of all that one run does"
    assert refused not in str(committed.run(*single))
    ran = committed.run(verb, *every)
    assert ran.code == 1
    assert f"takes this run past {alone + 1:,} steps, {refused}" in ran.out + ran.err


def test_losses_that_are_planned_share_the_budget(
    committed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = steps_of(committed, monkeypatch, "plan")
    monkeypatch.setattr(work, "MAX_UNITS", planned)
    assert committed.run("plan").code == 0
    ran = committed.run("plan", "--n-minus-one")
    assert ran.code == 1
    assert "the budget of all that one run does. Name one stack, use several stacks, or write less" in ran.err
