"""What the files of a project say about its requirements. No code of the project runs."""
