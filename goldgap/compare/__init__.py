"""Methods against each other on the same data."""
