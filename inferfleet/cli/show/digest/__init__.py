"""A digest as Markdown, for people in a pull request.

Nothing is decided here. JSON is the value itself.
"""
