"""Write feedback pages without scripts, and the rubric that a marker sees."""
