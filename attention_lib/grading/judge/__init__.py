"""Running a submission's cells, and checking its answers by way of a proxy."""
