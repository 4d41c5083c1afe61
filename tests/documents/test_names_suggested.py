"""The known name closest to a mistyped one, among few and among many."""

import pytest

from inferfleet.documents import wording
from inferfleet.documents.wording import nearest

MANY = [f"class-with-a-long-name-{number}" for number in range(3_900)]


@pytest.mark.parametrize(
    ("word", "known", "close"),
    [
        ("class-with-a-lang-name-371", MANY, "class-with-a-long-name-371"),
        ("Class_With_A_Long_Name-3899x", MANY, "class-with-a-long-name-3899"),
        ("h010", [*MANY, "h100"], "h100"),
        ("quite another", MANY, None),
        ("replcias", ["replicas", "engine"], "replicas"),
        ("replcias", [], None),
    ],
)
def test_the_closest_name_is_found(word: str, known: list[str], close: str | None) -> None:
    assert nearest(word, known) == close


def test_few_of_many_names_are_compared_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def close(word: str, likely: object, **options: object) -> list[str]:
        compared.append(len(list(likely)))  # type: ignore[call-overload]
        return []

    monkeypatch.setattr(wording, "get_close_matches", close)
    nearest("class-with-a-lang-name-1", MANY)
    assert compared == [30]
