"""A page's images become files, with the alt text and size that the notebook gives them."""

import io
import re

from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from attention_lib.plots.style import lesson_style, new_figure
from website.pictures import move_pictures


@lesson_style
def figure_html():
    figure, _ = new_figure("What is to be seen.", height=1.0)
    return figure._repr_html_()


def test_image_becomes_a_file_of_the_same_pixels_and_keeps_its_alt_text(tmp_path):
    output = new_output("display_data", {"text/html": figure_html()})
    page = new_notebook(cells=[new_code_cell("draw()", outputs=[output])])
    (name,) = move_pictures(page, tmp_path, "../figures")
    html = page.cells[0].outputs[0].data["text/html"]
    assert re.fullmatch(
        f'<img src="../figures/{name}" alt="What is to be seen." width="700" height="100" [^>]*>',
        html,
    )
    assert Image.open(io.BytesIO((tmp_path / name).read_bytes())).size == (1400, 200)
