"""Where a command line runs the script of a shell, such as `sh -c <script>`: read as shells read it."""

from collections.abc import Sequence

_SHELLS = ("sh", "bash", "dash", "ash", "zsh")
# Long options of bash whose argument is the next word; bash takes them with one dash too (`long_args` in
# shell.c, bash 5.2).
_WITH_ARGUMENT = ("rcfile", "init-file")


def script_at(words: Sequence[str]) -> int | None:
    """Return the position of the script in a command line, None without one.

    The script is the first word after the options of a shell, if `c` is among them (IEEE Std 1003.1, `sh`).
    In `bash run.sh -c x` the options are those of `run.sh`.
    """
    for place, word in enumerate(words):
        if word.rpartition("/")[2] in _SHELLS:
            at = _after_options(words, place + 1)
            if at is not None:
                return at
    return None


def _after_options(words: Sequence[str], start: int) -> int | None:
    asked = False
    place = start
    while place < len(words) and words[place][:1] in ("-", "+"):
        option = words[place]
        place += 1
        if option == "--":
            break
        if option.lstrip("-") in _WITH_ARGUMENT:
            place += 1
            continue
        if option.startswith("--"):
            continue
        asked = asked or (option.startswith("-") and "c" in option)
        if option[-1] in "oO":  # `-o pipefail`, `-euo pipefail`
            place += 1
    return place if asked and place < len(words) else None
