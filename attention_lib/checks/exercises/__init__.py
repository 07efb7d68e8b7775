"""The exercises, one module a lesson, each beside the mistakes known for it."""
