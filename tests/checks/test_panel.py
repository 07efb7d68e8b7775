"""The panel shows the call, the result and what is right, and escapes all of it."""

import dataclasses

import numpy as np
import pytest

import attention_lib
from attention_lib.checks.show.panel import as_html, as_text, headline
from attention_lib.checks.verdict import Report
from attention_lib.exercises import EXERCISES
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


def test_known_mistake_that_ends_every_call_in_an_error_shows_the_line():
    shown = as_text(verdict(lambda x, axis=-1: np.exp(x) / np.exp(x).sum(axis=axis)))
    assert "softmax: not right yet" in shown
    assert "ValueError: operands could not be broadcast" in shown


def test_the_panel_holds_no_markup_of_the_learners():
    def hostile(scores, axis=-1):
        raise ValueError("<script>alert(1)</script>")

    panel = as_html(verdict(hostile))
    assert "<script>" not in panel
    assert 'data-outcome="error"' in panel


def test_the_panel_shows_as_code_what_a_sentence_has_between_backticks():
    report = verdict(lambda scores, axis=-1: scores)
    sentence = "Write `a < b` in place of `a > b`."
    panel = as_html(dataclasses.replace(report, sentence=sentence, parts=()))
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
    assert report.sentence.startswith(
        "Part 2 of result 2 of decode_step gives 6 at [0, 0]; it should"
    )
    text = as_text(report)
    assert "you returned, part 2 of result 2" in text
    assert "you returned, result 1" not in text  # which is right, and only named
    assert text.endswith("  right:\n    result 1, part 1 of result 2")

    answer = lambda query, key, value, cache=None: (value, None)  # noqa: E731
    report = verdict(answer, "decode_step", policy=WITHOUT_SOURCE)
    assert report.sentence == "Result 2 of decode_step returned None; it should return 2 parts."
    assert "right is, part 2 of result 2" in as_text(report)


def test_a_right_number_of_a_pair_is_only_named_and_a_wrong_one_marked():
    def halved(length, head_dim, itemsize, block_rows=None):
        naive, tiled = attention_lib.attention_bytes(length, head_dim, itemsize, block_rows)
        return naive // 2, tiled

    panel = as_html(verdict(halved, "attention_bytes", policy=WITHOUT_SOURCE))
    assert panel.count("outline") == 1
    assert "you returned, result 1" in panel
    assert "you returned, result 2" not in panel


def test_a_long_array_is_cut_and_says_by_how_many_lines():
    def heads_after_the_first_axis(x, num_heads):
        return np.stack(np.split(x, num_heads, axis=-1), axis=min(1, x.ndim - 2))

    text = as_text(verdict(heads_after_the_first_axis, "split_heads", policy=WITHOUT_SOURCE))
    assert text.count("more lines") == 3  # x, what was returned, and what is right
    assert len(text.splitlines()) < 110


def test_a_sentence_about_one_of_several_results_begins_with_a_capital_letter():
    report = verdict(lambda left, right: (left[0], None), "merge_attention", policy=WITHOUT_SOURCE)
    assert headline(report).startswith(
        "merge_attention: not right yet. Result 1 of merge_attention"
    )


def test_the_one_entry_of_an_array_is_not_called_all_entries():
    text = as_text(
        verdict(
            lambda blocks: (max(np.max(b, axis=-1) for b in blocks), np.zeros(1)),
            "online_softmax_stats",
            policy=WITHOUT_SOURCE,
        )
    )
    assert "the only entry" in text
    assert "all 1 entries" not in text


def test_edit_stands_folded_below_the_fault_and_last_in_plain_text():
    report = Report(EXERCISES["softmax"], "wrong", "The axis is wrong.", edit="Write `a < b`.")
    panel = as_html(report)
    assert "<details><summary>The line to change</summary>Write <code>a &lt; b</code>." in panel
    assert panel.index("The axis is wrong.") < panel.index("<details>")
    assert as_text(report).splitlines()[-2:] == ["  The line to change:", "    Write `a < b`."]
    assert headline(report) == "softmax: not right yet. The axis is wrong."


def test_a_wrong_shape_is_named_beside_the_numbers():
    text = as_text(verdict(lambda scores, axis=-1: np.array([scores.sum()]), "logsumexp"))
    assert "wrong:\n    the shape: (1,), where () is right" in text


@pytest.mark.parametrize("by", [1e-6, 1e-9])
def test_arrays_that_print_alike_are_written_with_the_digits_that_tell_them_apart(by):
    report = verdict(lambda scores, axis=-1: right(scores, axis) * (1 + by))
    text = as_text(report)
    yours = text.partition("you returned")[2].splitlines()[1]
    rights = text.partition("right is")[2].splitlines()[1]
    assert yours != rights
    assert yours.strip(" [").partition(",")[0] in as_html(report)


@pytest.mark.parametrize(
    ("parts", "shown", "folded"),
    [
        (("One. Two.", "Besides: Three."), "One. Two. Besides: Three.", ""),
        (("One. Two. Three.", "Besides: Four."), "One. Two. Three.", "Four."),
        (("One. Two.", "Besides: Three. Four."), "One. Two.", "Three. Four."),
        (("Two faults: One.", "Besides: Two. Three."), "Two faults: One. Besides: Two. Three.", ""),
        (("Use a.any() or a.all(). if, max. Two. Three. Four.",), None, "Four."),
    ],
)
def test_three_sentences_are_shown_at_once_and_the_rest_is_folded(parts, shown, folded):
    report = Report(EXERCISES["softmax"], "wrong", " ".join(parts), parts=parts)
    first, _, rest = as_text(report).partition("\n  More that is wrong:\n    ")
    assert shown is None or first == f"softmax: not right yet. {shown}"
    assert folded is None or rest == folded
    assert headline(report) == first
    summary = "<details><summary>More that is wrong</summary>"
    assert (summary in as_html(report)) is bool(rest)
