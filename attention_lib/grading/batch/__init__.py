"""A batch of submissions: planned, handed to workers, recorded."""
