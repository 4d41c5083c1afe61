"""How files are shared out where several processes run them."""

from pathlib import PurePath

from xdist.scheduler import LoadFileScheduling

# The files that share two clusters, in halves that take equally long. Each process that runs some of them has
# two clusters of its own.
HALVES = (
    ("test_recover_on_engine", "test_faults", "test_life"),
    ("test_edits", "test_answers", "test_refused_updates", "test_broken_parts", "test_swap"),
)


class InHalves(LoadFileScheduling):
    """A file stays in one process, and so does a half."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        mine = [str(half) for half in HALVES if PurePath(file).stem in half]
        return mine[0] if mine else file
