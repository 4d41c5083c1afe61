"""How an engine's command line is read: its script, its words, and the flags that each engine knows.

Here belongs what a word is and whether the engine takes it. What follows from the values is decided in
`settings.py`, `group.py` and `ending.py`.
"""
