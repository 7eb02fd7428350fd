"""Bare mirrors, and cheap trees of one commit with no future in them."""
