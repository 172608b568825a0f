"""What the project adds to the three papers."""
