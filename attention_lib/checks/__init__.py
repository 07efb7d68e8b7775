"""Checking an answer, in the order of the steps.

exercise      an exercise and its known mistakes
judging       the steps below, one after the other
cases         the cases it is tried on, and the right result of each
calls         calling the answer: all that runs in the answer's process
comparing     is a result right, and the sentence that says what is not
problems      errors, forbidden calls, side effects, probes
hypotheses    what an answer with a certain fault would return
table         hypotheses held against calls and results, and their covers
source        edits that mend a wrong answer, and misleading lines
explaining    why results are wrong: the smallest cover, or where they are wrong
values        checking an answer that is a value
verdict       the report; panel draws it, and places says which entries are wrong
"""
