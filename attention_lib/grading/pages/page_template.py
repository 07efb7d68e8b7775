"""The Jinja template of feedback pages: no script, and no font or style from a server.

It is in a Python module, so that it is installed with the library and part of its fingerprint.
Blocks for outputs, which it does not override, are nbconvert's.
"""

from __future__ import annotations

NAME = "attention_feedback.html.j2"

PAGE = """\
{%- extends 'nbconvert/templates/classic/base.html.j2' -%}

{% macro points(score, most) -%}
{{ "%g" | format(score | float | round(2)) }} of {{ "%g" | format(most | float | round(2)) }}
{%- endmacro %}

{%- block header -%}
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<title>{{ resources.nbgrader.notebook | e }}
{%- if resources.nbgrader.name %}, {{ resources.nbgrader.name | e }}{% endif %}</title>
<style>
:root { color-scheme: light dark; --line: #8886; --tint: #8881; --link: light-dark(#0b5fa5, #7cc0ff) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 0 auto; padding: 1rem;
  overflow-wrap: break-word }
a { color: var(--link) }
pre, code { font: 0.875rem/1.45 ui-monospace, Menlo, Consolas, monospace }
pre { margin: 0; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere }
img { max-width: 100%; background: #fff }
table { border-collapse: collapse }
th, td { padding: 2px 10px; text-align: left; vertical-align: top }
.summary { width: 100%; margin: 1rem 0 }
.summary th, .summary td { border-bottom: 1px solid var(--line); padding: 6px 10px 6px 0 }
.summary th, .summary td { white-space: nowrap }
.summary td:nth-child(3) { width: 100%; white-space: normal; overflow-wrap: anywhere }
.summary p { margin: 0 }
.rendered_html th, .rendered_html td { border: 1px solid var(--line) }
.attention-tex { background: var(--tint); border-radius: 3px; padding: 0 3px }
pre.attention-tex { padding: 6px 10px; margin: 0.5em 0 }
.late { color: light-dark(#b3261e, #ff9a90) }
details { margin: 1rem 0; border: 1px solid var(--line); border-radius: 4px; padding: 4px 12px }
summary { cursor: pointer }
.cell { margin: 0.8rem 0 }
.code { border-left: 3px solid var(--line); background: var(--tint); padding: 8px 12px }
.graded { border: 1px solid var(--line); border-radius: 4px; padding: 8px 14px }
.label { display: flex; gap: 1em; justify-content: space-between; margin-bottom: 6px }
.comment { border-top: 1px solid var(--line); margin-top: 8px; padding-top: 8px }
.output_area { margin-top: 6px; overflow-x: auto }
.output_error pre { color: light-dark(#b3261e, #ff9a90) }
.highlight .k, .highlight .kn, .highlight .ow { color: light-dark(#00693e, #7fd6a4) }
.highlight .kc, .highlight .nb, .highlight .bp { color: light-dark(#0b5fa5, #7cc0ff) }
.highlight .s1, .highlight .s2, .highlight .sd, .highlight .sa, .highlight .si {
  color: light-dark(#a0341a, #f2a58e) }
.highlight .c1 { color: light-dark(#5b6770, #a8b2ba); font-style: italic }
.highlight .mi, .highlight .mf { color: light-dark(#7a3e9d, #d3a6ee) }
.ansi-red-fg { color: light-dark(#b3261e, #ff9a90) }
.ansi-green-fg { color: light-dark(#00693e, #7fd6a4) }
.ansi-blue-fg, .ansi-cyan-fg { color: light-dark(#0b5fa5, #7cc0ff) }
.ansi-bold { font-weight: bold }
@media (max-width: 30rem) {
  .summary, .summary tbody, .summary tr { display: block }
  .summary tr { border-bottom: 1px solid var(--line); padding: 6px 0 }
  .summary tr:first-child { display: none }
  .summary td { display: inline-block; border: 0; padding: 0 10px 0 0; white-space: normal }
  .rendered_html table { display: block; overflow-x: auto }
}
@media print { details { border: none } .graded { break-inside: avoid } }
</style>
</head>
{%- endblock header -%}

{% block body %}
<body>
<h1 id="top">{{ (resources.lesson_title or resources.nbgrader.notebook) | e }}</h1>
{%- if resources.nbgrader.name %}
<p>{{ [resources.nbgrader.name, resources.nbgrader.time] | select | join(", ") | e }}</p>
{%- endif %}
{%- set unmarked = resources.feedback_page | selectattr("unmarked") | list %}
<p><strong>{{ points(resources.nbgrader.score, resources.nbgrader.max_score) }}
{%- if unmarked %} so far</strong>. Not marked yet:
{{ unmarked | map(attribute="name") | join(", ") | e }}, worth
{{ "%g" | format(unmarked | sum(attribute="points") | round(2)) }}.{% else %}</strong>{% endif %}</p>
{%- if resources.nbgrader.late %}
<p class="late">This work was handed in late
{%- if resources.nbgrader.late_penalty > 0 %}:
{{ resources.nbgrader.late_penalty | float | round(2) }} points are taken off{% endif %}.</p>
{%- endif %}
{%- if resources.note_on_all %}
<div class="rendered_html">{{ resources.note_on_all | markdown2html }}</div>
{%- endif %}
{%- if resources.stopped_cells %}
<p>Stopped with an error: {{ resources.stopped_cells | e }}.</p>
{%- endif %}
<table class="summary">
<tr><th>Exercise</th><th>Points</th><th>What was found</th></tr>
{%- for row in resources.feedback_page %}
<tr><td><a href="#{{ row.anchor | e }}">{{ row.name | e }}</a></td>
<td>{{ "waits" if row.unmarked else points(row.score, row.points) }}</td>
<td>{{ row.sentence | e }}
{%- if row.comment %}
<div class="rendered_html"><strong>Comment:</strong> {{ row.comment | markdown2html }}</div>
{%- endif %}</td></tr>
{%- endfor %}
</table>
{{ super() }}
</body>
{%- endblock body %}

{% block footer %}
</html>
{% endblock footer %}

{% block any_cell scoped %}
{%- set place = cell.metadata.feedback_page -%}
{%- if place.opens %}
<details><summary>Lesson text{% if place.heading %}: {{ place.heading | e }}{% endif %}</summary>
{%- endif %}
{{ super() }}
{%- if place.closes %}
</details>
{%- endif %}
{% endblock any_cell %}

{% macro label(cell) -%}
{%- set marks = cell.metadata.nbgrader -%}
<div class="label"
{%- if marks.grade %} id="{{ marks.grade_id | e }}"{% endif %}><strong>
{%- if marks.solution %}Your answer{% else %}Check{% endif %}</strong>
<span>{% if marks.grade %}
{{- "waits to be read" if marks.unmarked else points(marks.score or 0, marks.points or 0) }}
{% endif %}<a href="#top">(Top)</a></span></div>
{%- endmacro %}

{% macro comment(cell) -%}
{%- if cell.metadata.nbgrader.comment %}
<div class="comment"><strong>Comment:</strong> {{ cell.metadata.nbgrader.comment | markdown2html }}</div>
{%- endif %}
{%- endmacro %}

{% block markdowncell scoped %}
{%- if cell.metadata.nbgrader and (cell.metadata.nbgrader.solution or cell.metadata.nbgrader.grade) %}
<div class="cell graded">{{ label(cell) }}
<div class="rendered_html">{{ cell.source | markdown2html }}</div>{{ comment(cell) }}</div>
{%- else %}
<div class="cell rendered_html">{{ cell.source | markdown2html }}</div>
{%- endif %}
{% endblock markdowncell %}

{% block codecell scoped %}
{%- if cell.metadata.nbgrader and (cell.metadata.nbgrader.solution or cell.metadata.nbgrader.grade) %}
<div class="graded">{{ label(cell) }}{{ super() }}{{ comment(cell) }}</div>
{%- else %}
{{ super() }}
{%- endif %}
{% endblock codecell %}

{% block in_prompt %}{% endblock in_prompt %}

{% block output_area_prompt %}{% endblock output_area_prompt %}

{% block input %}
<div class="code">{{ cell.source | highlight_code(metadata=cell.metadata) }}</div>
{% endblock input %}

{% block data_latex scoped %}
<pre class="attention-tex">{{ output.data['text/latex'] | e }}</pre>
{% endblock data_latex %}
"""
