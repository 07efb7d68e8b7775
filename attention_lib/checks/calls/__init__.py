"""Call, watch and measure an answer: all of `checks` that runs in the answer's process."""
