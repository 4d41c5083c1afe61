"""What the exit codes of the command mean. `--help` of every verb needs no more than this."""

from enum import IntEnum


class ExitCode(IntEnum):
    FINE = 0
    PROBLEMS = 1
    USAGE = 2
    UNPLACED = 3
    LOCK_DIFFERS = 4
    NOT_READY = 5
    UNFINISHED = 6
    INTERRUPTED = 130
    READER_GONE = 141


MEANINGS = {
    ExitCode.FINE: "fine",
    ExitCode.PROBLEMS: "problems in what was written, or a file that cannot be read or written; "
    "nothing was changed",
    ExitCode.USAGE: "the command was called wrongly",
    ExitCode.UNPLACED: "replicas have no place, and their deployment or the stack refuses an update then",
    ExitCode.LOCK_DIFFERS: "placement.lock does not match (`plan --locked`, and `digest` of stacks that are "
    "locked: by their settings, or where the environment variable `CI` is set)",
    ExitCode.NOT_READY: "something that should serve does not, or its cluster does not answer (`status`, "
    "`chat`); "
    "an update lacks what it needs (`doctor`); something is left that costs, or could not be looked for "
    "(`doctor --leftovers`)",
    ExitCode.UNFINISHED: "a killed update left something behind that is not fixed (`recover`)",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C",
    ExitCode.READER_GONE: "the reader of the output went away",
}

HELP = "Exit codes: " + "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items()) + "."
