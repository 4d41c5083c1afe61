"""`python -m sandbox.gcp.provider <stack folder>`: what the engine starts as pulumi-resource-gcp."""

import sys

from inferfleet.starting import collect_seldom

if __name__ == "__main__":
    collect_seldom()
    from sandbox.gcp.provider.serving import serve

    serve(sys.argv[1])
