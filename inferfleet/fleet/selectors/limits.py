"""What a selector may cost.

Documents may come from people who are not trusted. An expression that passes these limits takes less than
half a second and 200 MiB on a class (measured with expressions at the limit of cost), and all selectors of a
stack together a few seconds.
"""

# As in Kubernetes (CELSelectorExpressionMaxLength and CELSelectorExpressionMaxCost of k8s.io/api/resource).
MAX_BYTES = 10 * 1024
MAX_COST = 1_000_000
# Characters that the functions below may read and write in one evaluation, and patterns they may compile.
MAX_CHARACTERS = 1_000_000
MAX_PATTERNS = 64
# Memory of one compiled regular expression, which bounds the time to compile it too.
PATTERN_BYTES = 1 << 18
# Of all different selectors of a plan together: their number and bytes, the evaluations (different selectors
# times classes) and the costs of these. A thousand selectors over the forty classes of the catalogue are
# 40,000 evaluations of some microseconds, and cost 3,000,000; a plan at the limits takes some seconds more.
MAX_DIFFERENT = 2_000
MAX_TOTAL_BYTES = 128 * 1024
MAX_EVALUATIONS = 50_000
MAX_TOTAL_COST = 5_000_000

_BEGIN, _END = "\x02", "\x03"


class Unusable(ValueError):  # noqa: N818 (it says what the value is)
    """Raised by a function of the library for a value that it cannot read; the text says why.

    The CEL library makes a text of it, in which marks show where the words of ours are.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        # The library cuts and prints bytes, so only letters of one byte go through it.
        return f"{_BEGIN}{self.why.encode('unicode_escape').decode('ascii')}{_END}"

    @staticmethod
    def said(message: str) -> str | None:
        """Return the words of ours in a text of the CEL library."""
        escaped = message.partition(_BEGIN)[2].rpartition(_END)[0]
        return escaped.encode("ascii", "replace").decode("unicode_escape") or None


class Budget:
    """What is left for one evaluation. The functions of the library take from it."""

    def __init__(self) -> None:
        self.refill()

    def refill(self) -> None:
        """Begin a new evaluation."""
        self._characters, self._patterns = MAX_CHARACTERS, MAX_PATTERNS

    def take(self, characters: int) -> None:
        """Raise Unusable when the evaluation has read and written too much text."""
        self._characters -= characters
        if self._characters < 0:
            raise Unusable(f"the functions on texts and lists handle more than {MAX_CHARACTERS:,} characters")

    def take_pattern(self) -> None:
        """Raise Unusable when the evaluation has used too many different regular expressions."""
        self._patterns -= 1
        if self._patterns < 0:
            raise Unusable(f"more than {MAX_PATTERNS} different regular expressions are used")


BUDGET = Budget()
