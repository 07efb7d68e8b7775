"""Write what goes back to a learning platform (LMS): grades as CSV, feedback pages as a zip archive."""
