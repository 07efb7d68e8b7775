"""Compare results with the reference: the cases, what is wrong with a result, which hypothesis fits."""
