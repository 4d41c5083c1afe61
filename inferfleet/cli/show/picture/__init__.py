"""A picture as one HTML file that asks nobody for anything. Its style and script are the files beside.

All of it can be read without the script, which adds search, the choice of a theme and folding. Texts come
from documents, clusters and clouds: `markup` escapes every one, and a content security policy lets nothing
act but this style and this script.
"""
