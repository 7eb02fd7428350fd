"""A debugger for one test case in a sandbox: commands in, answers out, whatever the test does."""
