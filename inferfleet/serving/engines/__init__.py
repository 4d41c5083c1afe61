"""What inferfleet writes for engines, and what follows from what documents declare of them.

Nothing here depends on text of a command line, a variable or an image that somebody else wrote: names, ports,
grace periods and revisions follow from declared fields. `own_command` alone looks at words of a command of
the team's own, and only to say where they are not what the document declares.
"""
