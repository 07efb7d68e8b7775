"""Grade lessons with nbgrader: release notebooks, and turn submissions into points.

A submission passes through these folders:

- `intake` reads an untrusted folder and rebuilds the notebook from the released one;
- `batch` plans what is due and gives it to worker processes;
- `sandbox` starts bubblewrap, and `inside` runs in it as the student's process: nothing else of
  the grader is visible there;
- `judge` runs the cells and checks the answers through a proxy;
- `nbgrader_plugins` write the result to the gradebook of the `classroom`;
- `pages` writes the feedback, and `export` packs it and the grades for a learning platform.

`lesson` goes the other way, from Markdown to the notebook that nbgrader releases. `release`,
`grade` and `watch` are the commands, and `limits` holds every limit with its unit.
"""

import sys

# nbformat imports jsonschema. If it finds this package, it compiles forty grammars for formats that
# no notebook has, for more than a second at the start of every command and worker. If not, it
# leaves these formats unchecked.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
