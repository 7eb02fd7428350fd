"""Shared by localize, generate and repair: the input of methods, their conversation with a model, and the parsing of
replies.

The modules here write nothing to the store. The stages pass in what they need, and store the results.
"""
