"""Writes scripts into its Markdown, its answer in words, comments of its code and what it prints.

The answers are right: it deserves full marks, and no page contains its scripts.
"""

from nbformat.v4 import new_markdown_cell

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
# </pre></div><script>stolen()</script><!--
print("</pre></div><script>stolen()</script>")
print("\\x1b[31m</span><script>stolen()</script>\\x1b]8;;javascript:stolen()\\x07look\\x1b]8;;\\x07")
"""

ANSWERS = {
    "written_softmax": """
Every weight is positive. <script>stolen()</script> <img src=x onerror=stolen()>

<textarea onfocus=stolen() autofocus>stolen()</textarea> [more](javascript:stolen())
"""
}


def change(notebook):
    texts = (
        "<script>stolen()</script>",
        "<img src=x onerror=stolen()><svg/onload=stolen()>",
        '[look](javascript:stolen()) ![x](x"onerror=stolen()) <javascript:stolen()>',
        "$$\\href{javascript:stolen()}{x} \\unicode{x</script><script>stolen()</script>}$$",
        "```\n</code></pre><script>stolen()</script>\n```",
        "<details open ontoggle=stolen()><math><mtext></form><script>stolen()</script>",
        '# <a name="x" onmouseover="stolen()">title</a> {onclick=stolen()}',
    )
    notebook.cells += [new_markdown_cell(text) for text in texts]
