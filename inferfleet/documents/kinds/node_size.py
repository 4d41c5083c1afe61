"""What one node of a class offers to pods: cores, memory, huge pages, number of pods."""

from typing import Annotated

from pydantic import AfterValidator, Field

from inferfleet.documents.kinds.base import Model, Quantity
from inferfleet.documents.kinds.quantity import parse_quantity
from inferfleet.documents.problems import mistaken


def _in_pages(size: str) -> AfterValidator:
    """Require whole pages of the size."""

    def checked(amount: str) -> str:
        if parse_quantity(amount) % parse_quantity(size):
            raise mistaken(f"{{field}} {amount} is not a multiple of {size}", f"Write a multiple of {size}")
        return amount

    return AfterValidator(checked)


class HugePages(Model):
    """Memory of a node in huge pages, by the size of a page."""

    size_2mi: Annotated[Quantity, _in_pages("2Mi")] = Field(default="0", alias="2Mi")
    """Memory in pages of 2Mi, a multiple of that, such as `4Gi`; pods ask for `hugepages-2Mi`. Default: none.
    """
    size_1gi: Annotated[Quantity, _in_pages("1Gi")] = Field(default="0", alias="1Gi")
    """Memory in pages of 1Gi, a multiple of that; pods ask for `hugepages-1Gi`. Default: none."""


class Node(Model):
    """What one node offers to pods."""

    cpu: Quantity
    """Allocatable CPU cores per node, such as `"208"`, which is less than the machine has."""
    memory: Quantity
    """Allocatable memory per node, such as `1872Gi`, which is less than the machine has, and does not count
    huge pages.
    """
    pods: int = Field(default=110, ge=1, le=1024)
    """Most pods per node. On GKE node pools are created with this limit, 256 at most there."""
    hugepages: HugePages = HugePages()
    """Memory in huge pages, which `memory` is without and with which GKE creates node pools. Default: none.
    """
