"""A try on Google Cloud removes what it made, wherever it fails."""

import shutil
import sys
from pathlib import Path

import pytest

from bench.smoke import LOCK, STACK, former, main, smoke, write

SELECT, DOCTOR = "pulumi stack select", "inferfleet doctor --stack smoke"
UP, CHAT, DESTROY = "pulumi up", "inferfleet chat", "pulumi destroy"
LEFTOVERS, RECOVER = f"{DOCTOR} --leftovers", "inferfleet recover"
BEGIN, REMOVE = [SELECT, DOCTOR], [DESTROY, LEFTOVERS]


class Commands:
    """Commands of which some fail, each so many times, or are interrupted."""

    def __init__(self, *, interrupted: str = "", **failing: int) -> None:
        self.ran: list[str] = []
        self._interrupted, self._failing = interrupted, {globals()[name]: n for name, n in failing.items()}

    def __call__(self, *words: str) -> int:
        line = " ".join(words)
        names = (SELECT, LEFTOVERS, DOCTOR, UP, CHAT, DESTROY, RECOVER)
        name = next(name for name in names if line.startswith(name))
        self.ran.append(name)
        if name == self._interrupted:
            raise KeyboardInterrupt
        self._failing[name] = self._failing.get(name, 0) - 1
        return int(self._failing[name] >= 0)


def test_an_answer_and_nothing_left_is_what_is_wanted() -> None:
    run = Commands()
    assert smoke(run, first=False)
    assert run.ran == [*BEGIN, UP, CHAT, *REMOVE]


@pytest.mark.parametrize(
    ("failing", "ran"),
    [
        ("SELECT", [SELECT]),
        ("DOCTOR", [*BEGIN, LEFTOVERS]),
        ("UP", [*BEGIN, UP, *REMOVE]),
        ("CHAT", [*BEGIN, UP, CHAT, *REMOVE]),
        ("DESTROY", [*BEGIN, UP, CHAT, *REMOVE, RECOVER, *REMOVE]),
        ("LEFTOVERS", [*BEGIN, UP, CHAT, *REMOVE, RECOVER, *REMOVE]),
    ],
)
def test_what_was_made_is_removed_wherever_it_fails(failing: str, ran: list[str]) -> None:
    run = Commands(**{failing: 1})
    assert smoke(run, first=False) == (failing in ("DESTROY", "LEFTOVERS"))
    assert run.ran == ran


def test_what_a_former_try_left_is_removed_although_doctor_refuses() -> None:
    run = Commands(DOCTOR=1, LEFTOVERS=1)
    assert not smoke(run, first=False)
    assert run.ran == [*BEGIN, LEFTOVERS, *REMOVE]


def test_a_first_try_makes_nothing_beside_what_a_lost_folder_left() -> None:
    run = Commands()
    assert smoke(run, first=True)
    assert run.ran == [*BEGIN, LEFTOVERS, UP, CHAT, *REMOVE]
    run = Commands(LEFTOVERS=1)
    assert not smoke(run, first=True)
    assert run.ran == [*BEGIN, LEFTOVERS]


def test_a_folder_knows_where_its_last_try_made_something(tmp_path: Path) -> None:
    folder = tmp_path / "smoke"
    (folder / "stacks" / STACK).mkdir(parents=True)
    place = {"project": "acme-inference", "region": "us-east4", "zone": "us-east4-a"}
    write(folder, **place)
    assert former(folder) is None
    (folder / "stacks" / STACK / LOCK).touch()
    assert former(folder) == place


def test_another_region_waits_until_the_last_one_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stack = tmp_path / "stacks" / STACK
    stack.mkdir(parents=True)
    write(tmp_path, project="acme-inference", region="us-east4", zone="us-east4-a")
    (stack / LOCK).touch()
    monkeypatch.setattr(shutil, "which", lambda _: "pulumi")
    words = [
        "--folder",
        str(tmp_path),
        "--project",
        "acme-inference",
        "--region",
        "us-east5",
        "--zone",
        "us-east5-a",
    ]
    monkeypatch.setattr(sys, "argv", ["smoke", *words])
    with pytest.raises(SystemExit):
        main()
    assert "make smoke PROJECT=acme-inference REGION=us-east4 ZONE=us-east4-a" in capsys.readouterr().err


def test_what_cannot_be_removed_is_no_good_end() -> None:
    assert not smoke(Commands(LEFTOVERS=2), first=False)
    assert not smoke(Commands(DESTROY=2), first=False)


@pytest.mark.parametrize("command", [UP, CHAT])
def test_what_was_made_is_removed_when_somebody_interrupts_it(command: str) -> None:
    run = Commands(interrupted=command)
    with pytest.raises(KeyboardInterrupt):
        smoke(run, first=False)
    assert run.ran[-2:] == REMOVE
