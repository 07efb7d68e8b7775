"""All of `checks` that runs in the process of an answer: calling it, watching, measuring."""
