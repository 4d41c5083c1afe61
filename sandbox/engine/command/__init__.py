"""How an engine's command line is read: its script, its words, and the flags that each engine knows.

Here belongs what a word is and which type its value has. What follows from the values is decided in
`settings.py` and `group.py`.
"""
