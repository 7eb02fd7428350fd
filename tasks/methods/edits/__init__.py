"""Apply edits of whole functions and classes, as models write them, to files. Reads replies and text; writes
nothing."""
