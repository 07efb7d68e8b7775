"""Check an answer. The modules, in the order of the steps:

exercise      defines an exercise and its known mistakes
judging       runs the steps below, one after the other, and returns a report
calls         calls the answer: all code that runs in the answer's process
compare       makes the cases, and compares results with the reference
errors        explains shapes, types and errors, and finds the line
patch         replaces parts of an answer's text
edits         searches for edits that correct a wrong answer
hypotheses    predicts what an answer with a certain fault would return
findings      yields what is wrong, and why
resolve       ranks findings, and joins their texts
verdict       holds the report
show          writes the report as text and HTML
"""
