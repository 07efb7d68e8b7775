"""Shows HTML, JavaScript, SVG and other rich outputs that would run in the grader's browser.

The answers are right: it deserves full marks, and no script of its reaches a page.
"""

LESSON = "01_softmax"
DESERVES = "full"
ABOVE = """
from IPython.display import HTML, SVG, IFrame, Javascript, Latex, Markdown, display

display(HTML("<script>stolen()</script><b>bold words</b>"), Javascript("stolen()"))
display(HTML("<img src=x onerror=stolen()><a href='javascript:stolen()'>look</a>"))
display(HTML("<iframe srcdoc='<script>stolen()</script>'></iframe><object data=x></object>"))
display(HTML("<form action=https://example.org><button formaction='javascript:stolen()'>"))
display(HTML("<style>body{background:url(javascript:stolen())}</style><base href=//stolen()/>"))
display(HTML("<p style='background:url(https://example.org/stolen())'>x</p>"))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg' onload='stolen()'><script>stolen()</script></svg>"))
display(Markdown("<img src=x onerror=stolen()> [look](javascript:stolen())"))
display(Latex("$\\\\href{javascript:stolen()}{x}$"), IFrame("javascript:stolen()", 10, 10))
bundle = dict.fromkeys(("text/vnd.mermaid", "application/pdf", "text/latex", "image/svg+xml",
                        "application/vnd.jupyter.widget-view+json", "application/javascript"),
                       "<script>stolen()</script>")
display(bundle, raw=True)
display({"image/png": "x' onerror='stolen()'", "image/jpeg": "</script><script>stolen()"}, raw=True)
"""
