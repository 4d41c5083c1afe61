"""What the environment says to the verbs that reach clusters."""

import os

from inferfleet.live.google_addresses import Addresses, addresses


def google() -> Addresses:
    """Where Google's APIs are, overridden as for `gcloud`."""
    return addresses(os.environ)


def container_api() -> str:
    """Where Google's Container API is."""
    return google().container
