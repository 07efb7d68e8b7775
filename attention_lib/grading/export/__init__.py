"""What goes back into a learning platform (LMS): grades as CSV, feedback pages as a zip archive."""
