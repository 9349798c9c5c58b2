"""Reports for people, from the same values that go into JSON."""
