"""What is wrong with a dataset. ``examine`` looks at the whole and changes nothing; each part has a file beside it."""
