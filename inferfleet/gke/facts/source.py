"""Where a row of a table was read: each row has the address and the day on which its source says so."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A page of somebody else. `date` is that of the page or release, or the day on which it was read."""

    title: str
    url: str
    date: str

    def __str__(self) -> str:
        return f"{self.title}, {self.date}: {self.url}"
