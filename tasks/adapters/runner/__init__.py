"""Our own test runner: a host side that writes its job and reads its report, and `inside/`, which is copied into the sandbox."""
