"""HTTP to model providers: requests, streams and errors."""
