"""The built-in methods, one file each, with their prompts beside them."""
