"""The text that a picker reads."""

import pytest

from inferfleet.serving.picker import config_text


@pytest.mark.parametrize("text", ["y", "N", "1e3", "0o17", "+12E3"])
def test_texts_stay_texts_for_the_picker(text: str) -> None:
    """It would read them as a boolean or a number, and exit; others stand as they always did."""
    assert config_text({"name": text, "type": "yes-scorer"}) == f"name: '{text}'\ntype: yes-scorer\n"
