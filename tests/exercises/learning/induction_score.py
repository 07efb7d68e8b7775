"""Right and wrong answers to `induction_score`."""


def right_in_loops(weights, tokens):
    found = []
    for i in range(len(tokens)):
        earlier = [j for j in range(i) if tokens[j] == tokens[i]]
        if earlier:
            found.append(sum(weights[i, j + 1] for j in earlier))
    return sum(found) / len(found) if found else 0.0


WRONG = {
    "rounded": lambda weights, tokens: round(float(right_in_loops(weights, tokens)), 9),
}
