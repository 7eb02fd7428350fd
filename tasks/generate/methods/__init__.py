"""The methods of this project, one file each, with their prompts beside them."""
