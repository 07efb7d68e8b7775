"""The nbgrader side: lessons become released notebooks, submissions become points.

A submission's way, a folder a station:

- `intake` reads an untrusted folder and rebuilds the notebook on the released one;
- `batch` plans what is due and hands it to worker processes;
- `sandbox` starts bubblewrap, in which `inside` runs the student's process: all that it sees of the
  grader lies there;
- `judge` runs the cells and checks the answers through a proxy;
- `nbgrader_plugins` write the result into the gradebook of the `classroom`;
- `pages` makes the feedback, and `export` packs it and the grades for a learning platform.

`lesson` is the way in the other direction, from Markdown to the notebook that nbgrader releases.
`release`, `grade` and `watch` are the commands, `limits` every limit with its unit.
"""

import sys

# With this package, jsonschema compiles forty grammars for formats that no notebook has: more than a
# second at the start of every command and worker. Without it, it leaves those formats unchecked.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
