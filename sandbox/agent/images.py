"""Which endpoint picker images the sandbox has a program for."""

from inferfleet.profiles.table import profile

# The profile whose image is built of the very module the toolchain builds (see toolchain/parts.py).
PROFILE = "gie-1.5"


def refusal(image: str) -> str:
    """Why the image cannot run here, "" when it can: nothing else is run in its place."""
    had = profile(PROFILE).epp_image
    name, _, tag = had.rpartition(":")
    own_name, _, own_tag = image.partition("@")[0].rpartition(":")
    # A mirror keeps the last part of the name and the tag.
    if own_tag == tag and own_name.rpartition("/")[2] == name.rpartition("/")[2]:
        return ""
    return (
        f'Container image "{image}" is not in the sandbox, and nothing is run in its place. '
        f"It has the endpoint picker of {had} only: use profile {PROFILE} here, or a mirror of that image."
    )
