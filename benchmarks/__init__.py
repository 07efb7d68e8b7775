"""What the library is measured against, one table a module: `python -m benchmarks` prints all."""
