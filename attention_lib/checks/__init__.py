"""Checking an answer, in the order of the steps.

exercise      an exercise and its known mistakes
cases         the cases it is tried on, and what is right on each
calls         calling the answer: all that runs in the answer's process
comparing     is a result right, and the sentence that says what is not
recognizing   the known mistake that gives the same numbers
source        small changes that mend a wrong answer, and lines that do not do what they seem to
judges        one function for each kind of problem; judging puts them in order, by policy
values        the same for an answer that is a value
verdict       the report; panel draws it, and places says which entries are wrong
"""
