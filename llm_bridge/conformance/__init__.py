"""Update rules against the engines' own loss functions: which are equal, and where one departs."""
