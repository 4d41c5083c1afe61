from dataclasses import replace

import pytest
import typer

from inferfleet.cli.report import Report, lines, reporting
from inferfleet.documents.problems import InvalidDocuments, Problem, Where

HERE, THERE = Where("a.yaml", 2), Where("b.yaml", 1)


def test_problems_stand_in_reading_order_once_with_an_empty_line_between_files() -> None:
    one, two = Problem("one", "Fix it", "spec.x", HERE), Problem("two", "Fix it", where=THERE)
    warning, notice = replace(two, severity="warning"), replace(one, severity="notice")
    report = Report([notice, two, warning, one, one])
    assert list(lines(report)) == [
        "a.yaml:2: spec.x: one. Fix it",
        "",
        "b.yaml:1: two. Fix it",
        "",
        "warning: b.yaml:1: two. Fix it",
        "",
        "notice: a.yaml:2: spec.x: one. Fix it",
        "",
        "2 problems, 1 warning, 1 notice",
    ]


def test_nothing_is_said_when_there_is_nothing_to_say() -> None:
    assert list(lines(Report())) == []


def _interrupted_in(plugin: str) -> KeyboardInterrupt:
    interrupt = KeyboardInterrupt()
    interrupt.add_note(plugin)
    return interrupt


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (InvalidDocuments([Problem("one", "Fix it")]), 1, "one. Fix it\n\n1 problem\n"),
        (
            _interrupted_in("plugin mine (plugins/mine.py)"),
            130,
            "Interrupted in plugin mine (plugins/mine.py). The same command can be run again.\n",
        ),
        (KeyboardInterrupt(), 130, "Interrupted. The same command can be run again.\n"),
        (
            PermissionError(13, "Permission denied", "out/x.yaml"),
            1,
            "out/x.yaml: Permission denied. Check that it exists, has room, "
            "and that you may read and write it.\n",
        ),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), 1, "A file is not UTF-8 text. Save it as UTF-8.\n"),
    ],
)
def test_whatever_ends_a_verb_is_told_in_a_line_with_an_exit_code(
    capsys: pytest.CaptureFixture[str], raised: BaseException, code: int, said: str
) -> None:
    with pytest.raises(typer.Exit) as ended, reporting():
        raise raised
    assert (ended.value.exit_code, capsys.readouterr().err) == (code, said)
