"""The panel shows the call, the result and what is right, and escapes all of it."""

import dataclasses

import numpy as np

import attention_lib
from attention_lib.checks.panel import as_html, as_text
from tests.checks.judged import WITHOUT_SOURCE, right, verdict


def test_their_error_shows_their_lines_and_none_of_ours():
    def breaks(scores, axis=-1):
        return scores / np.ones((7, 11, 13))

    report = verdict(breaks)
    text = as_text(report)
    assert report.outcome == "error"
    assert "return scores / np.ones((7, 11, 13))" in text
    assert "calling.py" not in text
    assert "observe" not in text


def test_the_panel_holds_no_markup_of_the_learners():
    def hostile(scores, axis=-1):
        raise ValueError("<script>alert(1)</script>")

    panel = as_html(verdict(hostile))
    assert "<script>" not in panel
    assert 'data-outcome="error"' in panel


def test_the_panel_shows_as_code_what_a_sentence_has_between_backticks():
    report = verdict(lambda scores, axis=-1: scores)
    sentence = "Write `a < b` in place of `a > b`."
    panel = as_html(dataclasses.replace(report, sentence=sentence))
    assert "Write <code>a &lt; b</code> in place of <code>a &gt; b</code>." in panel


def test_the_panel_marks_the_wrong_entries():
    panel = as_html(verdict(lambda s, axis=-1: right(s, axis) * np.linspace(1, 1.1, s.shape[-1])))
    assert panel.count("outline") == 2  # the first of three entries is right


def test_of_what_is_far_too_large_a_report_writes_the_beginning():
    class Counted:
        def __repr__(self):
            written.append(self)
            return "entry"

    written = []
    short_axes = np.zeros((4,) * 8)  # each of which would be written in full
    many = [[Counted()] * 100] * 100
    for returned in (short_axes, many):
        report = verdict(lambda scores, axis=-1, returned=returned: returned)
        assert len(as_text(report)) < 1000
    assert 0 < len(written) <= 400


def test_a_wrong_pair_is_shown_result_by_result():
    def turned(left, right):
        return attention_lib.merge_softmax_stats(left, right)[::-1]

    text = as_text(verdict(turned, "merge_softmax_stats"))
    for label in ("you returned, result 1", "right is, result 1", "right is, result 2"):
        assert label in text


def test_a_wrong_result_within_a_result_is_shown_part_by_part():
    def doubled(query, key, value, cache=None):
        keys, values = cache or (key[:0], value[:0])
        return value, [np.concatenate([keys, key], -2), 2 * np.concatenate([values, value], -2)]

    report = verdict(doubled, "decode_step", policy=WITHOUT_SOURCE)
    assert report.sentence == "part 2 of result 2 of decode_step gives 6 at [0, 0]; it should be 3."
    text = as_text(report)
    assert "you returned, part 2 of result 2" in text
    assert "you returned, result 1" not in text  # which is right, and only named
    assert text.endswith("  right:\n    part 1 of result 2\n  right:\n    result 1")

    answer = lambda query, key, value, cache=None: (value, None)  # noqa: E731
    report = verdict(answer, "decode_step", policy=WITHOUT_SOURCE)
    assert report.sentence == "result 2 of decode_step returned None; it should return 2 parts."
    assert "right is, part 2 of result 2" in as_text(report)
