"""Make the cases, and compare results with the reference."""
