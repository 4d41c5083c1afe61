"""Pages of docs that are made from the models, commands and tables that the program itself uses.

The text about a thing is written where the thing is defined; here is only how it is set out in Markdown.
"""
