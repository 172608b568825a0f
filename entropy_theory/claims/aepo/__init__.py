"""AEPO, "Arbitrary Entropy Policy Optimization": its numbered statements and its title."""
