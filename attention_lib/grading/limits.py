"""Every limit of the grader, with its unit: how much, how many, how long."""

# Intake: what is taken of one submission.

# Sandbox: what a submission's processes may use.

# Inside: what may cross from a submission's process to the grader.

# Judge: how long cells and answers may run.

# Pages: what feedback shows.

# Batch: workers, backups, progress.
DEATHS = 3  # of a call's workers, after which the call is given up
