"""Run a submission's cells, and check its answers through a proxy."""
