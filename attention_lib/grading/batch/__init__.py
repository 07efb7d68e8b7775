"""Grade a batch of submissions: plan it, give calls to workers, record the results."""
