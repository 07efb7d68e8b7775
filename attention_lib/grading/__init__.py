"""The nbgrader side: lessons become released notebooks, submissions become points."""
