"""What localize, generate and repair share: how a method is asked, and how it talks to a model and reads its replies.

Reads nothing and writes nothing by itself: stages hand in what it needs, and store what comes out.
"""
