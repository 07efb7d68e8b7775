"""The class around a lesson: its folders, gradebook, journal, and marks given by hand."""
