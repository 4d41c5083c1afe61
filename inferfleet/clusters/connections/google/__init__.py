"""What Google says of whole projects, as far as clusters and their pools are not concerned.

Here belong requests that only `doctor` makes; those of previews are in `reach/google_apis.py`.
"""
