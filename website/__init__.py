"""Build the course's site: every lesson executed, as static pages for readers without Python."""
