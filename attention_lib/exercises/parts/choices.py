"""Lists of choices that the patches of several exercises share."""

# Small constants, as learners add them or take them for a limit.
EPSILONS = "{1e-3|1e-4|1e-5|1e-6|1e-7|1e-8|1e-9|1e-10|1e-12}"
ZERO_OR_EPSILONS = EPSILONS.replace("{", "{0.0|")
TINY = EPSILONS.replace("}", "|1e-15|1e-16|1e-20|1e-30}")
TINIER = TINY.replace("}", "|1e-300}")
