"""Our own test runner: a host side that writes jobs and reads reports, and `inside/`, which runs in the sandbox."""
