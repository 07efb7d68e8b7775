"""Configure Sphinx for the course's site. `python -m website` writes the pages it reads."""

project = "Attention from the inside"
author = "The Attention Course contributors"
copyright = f"2026, {author}"
html_title = project

extensions = ["myst_nb"]
nb_execution_mode = "off"  # website/execution.py has run the cells
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["mystnb.unknown_mime_type"]  # live widgets, which a page does not have

mathjax_path = "mathjax/tex-chtml.js"

html_theme = "furo"
html_static_path = ["static", "../build/site-work/static"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_favicon = "static/favicon.svg"
html_js_files = [
    (script, {"defer": "defer"})
    for script in ("formulas.js", "panels.js", "frames.js", "scrolling.js")
]
html_copy_source = False
html_use_index = False
html_show_sourcelink = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00507f", "color-brand-content": "#00507f"},
    "dark_css_variables": {"color-brand-primary": "#8ecbf2", "color-brand-content": "#8ecbf2"},
}
