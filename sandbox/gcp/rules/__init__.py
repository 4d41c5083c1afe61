"""What Google fills in and refuses, per resource type, in the API's words.

Kept apart from the tables that decisions rest on, so that a mistake in one shows.
"""
