"""The loss of a step: batches of rows, and an update rule's scores turned into gradients of a model."""
