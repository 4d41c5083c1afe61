"""The pages of docs/reference, made from the models, commands and tables that the program itself uses.

What a page says of a thing stands beside that thing; here is only how it is set out in Markdown.
"""
