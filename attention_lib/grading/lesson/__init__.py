"""Convert a lesson from Markdown to the source notebook that nbgrader releases."""
