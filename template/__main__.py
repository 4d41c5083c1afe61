"""The Pulumi program of this project. All of it is in the package inferfleet."""

from inferfleet.program import main

if __name__ == "__main__":
    main()
