"""What reviewers learn of a stack: `digest` says what changes, `policy` what must not be, `picture` how
all of it looks, and `commit` gives the project as it was.

Values and conditions; how they are printed is for the verbs of `cli`.
"""
