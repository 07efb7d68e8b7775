"""Find what is wrong with an answer: each module yields findings, and none reads another's text."""
