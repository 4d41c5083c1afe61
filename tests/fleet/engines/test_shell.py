"""Which word of a command line is the script of a shell."""

import pytest
from inferfleet.fleet.engines.words import script_at


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["sh", "-c", "vllm serve"], "vllm serve"),
        (["/bin/bash", "-ec", "vllm serve"], "vllm serve"),
        (["bash", "-euo", "pipefail", "-c", "vllm serve"], "vllm serve"),
        (["bash", "-ceo", "pipefail", "vllm serve"], "vllm serve"),
        (["bash", "--login", "-c", "vllm serve", "--port", "80"], "vllm serve"),
        (["sh", "-c", "-e", "vllm serve"], "vllm serve"),
        (["env", "A=1", "sh", "+x", "-c", "vllm serve"], "vllm serve"),
        (["sh", "-c", "--", "vllm serve"], "vllm serve"),
        (["bash", "--rcfile", "/etc/rc", "-c", "vllm serve"], "vllm serve"),
        (["bash", "--init-file", "/etc/rc", "-ec", "vllm serve"], "vllm serve"),
        (["bash", "-rcfile", "/etc/rc", "-c", "vllm serve"], "vllm serve"),
    ],
)
def test_the_script_is_the_first_word_after_the_options_of_a_shell(words: list[str], script: str) -> None:
    place = script_at(words)
    assert place is not None
    assert words[place] == script


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["vllm", "serve", "-c", "x"],
        ["bash", "run.sh", "-c", "x"],
        ["sh", "-c"],
        ["sh", "-e", "run.sh"],
        ["bash", "-o", "pipefail"],
        ["bash", "--rcfile", "/etc/rc", "run.sh", "-c"],
        ["bash", "-rcfile", "/etc/rc", "run.sh"],
        ["bash", "--rcfile"],
        ["serve", "--name", "bash", "--config", "x"],
    ],
)
def test_other_command_lines_have_none(words: list[str]) -> None:
    assert script_at(words) is None
