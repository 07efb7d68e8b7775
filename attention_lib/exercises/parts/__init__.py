"""What the known mistakes of several exercises share: softmax and attention with a wrong step."""
