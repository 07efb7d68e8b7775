"""Show a verdict, and name values in sentences."""
