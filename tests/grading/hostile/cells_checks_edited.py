"""Rewrites each check cell so that it cannot fail: no check, a caught error, another check.

It has no answers. It deserves nothing, and to be told what was changed.
"""

DESERVES = "nothing"
TOLD = ("The check cell of stable_softmax had been changed; the lesson's own decides.",)


def change(notebook):
    texts = iter(
        [
            "pass",
            "def later():\n    check('stable_softmax', stable_softmax)",
            "try:\n    check('logsumexp', logsumexp)\nexcept Exception:\n    pass",
            "print('log_softmax: right. All 18 cases, 2 points.')",
            "check('cross_entropy', lib.cross_entropy)",
            "%%script true\ncheck('masked_softmax', masked_softmax)",
            "if False:\n    check('merge_softmax_stats', merge_softmax_stats)",
        ]
    )
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id", "").startswith("check_"):
            cell.source = next(texts)
