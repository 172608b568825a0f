"""Results that the project adds to the three papers."""
