"""A students' edition of the course: checks that say the same, without the answers.

Known results are recorded on the cases that a learner's answer is tried on, and looked up there.
`python -m attention_lib.edition` makes it. In an edition itself, this folder has the modules that
look up, and none that make one.
"""
