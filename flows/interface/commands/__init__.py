"""Commands beside the stories: questions, care of the warehouse and of the machine, servers for development."""
