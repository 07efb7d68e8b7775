"""The README's pictures show what the course says now; those of a class are compared in test_demo.py."""

import pytest

from website import screens


@pytest.mark.slow
def test_pictures_show_what_notebooks_say_now():
    for name, page in screens.notebook_pages().items():
        assert screens.words(page) == screens.words_in(name), (
            "`python -m website.screens` redraws it."
        )


def test_words_of_a_page_are_its_text_and_alt_texts_without_times():
    page = (
        "<html><head>not this</head><body class='x'><style>p {}</style><p>a &lt; b</p>"
        '<img src="data:," alt="Bars: 1, 2."><p>collected 2026-11-27 12:37 UTC</p></body></html>'
    )
    assert screens.words(page) == "a < b Bars: 1, 2. collected"
