"""A lesson written in Markdown becomes the source notebook that nbgrader releases."""
