"""GitHub: the queries, the client that sends them, and a local server that answers them as GitHub would."""
