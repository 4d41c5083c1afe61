"""A digest as others read it: Markdown for people in a pull request, SARIF for their code review.

Nothing is decided here. JSON is the value itself.
"""
