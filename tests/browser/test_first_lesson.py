"""A new user opens the first lesson, solves an exercise and sees that it is right."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

NOTEBOOK = ".jp-NotebookPanel:not(.lm-mod-hidden)"
MILLISECONDS_TO_OPEN = 60_000
MILLISECONDS_TO_RUN = 30_000
MILLISECONDS_TO_RUN_ALL = 150_000
NUMBERED = re.compile(r"\[\d+\]")

ANSWER = '''\
def softmax(scores, axis=-1):
    """Turn scores into weights of the same shape that sum to 1 along an axis."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
'''


WRONG = ANSWER.replace("axis=axis, ", "")


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_a_new_user_solves_the_softmax_exercise(lab: tuple[str, Path], page: Page):
    address, log = lab
    page.goto(address)
    expect(page).to_have_url(re.compile(r"/lab/tree/learn/01_softmax\.ipynb($|\?)"))
    expect(page.locator(f"{NOTEBOOK} .jp-Cell").first).to_be_visible(timeout=MILLISECONDS_TO_OPEN)
    kernel = page.locator(".jp-StatusBar-TextItem", has_text="Python 3 (ipykernel) | Idle")
    expect(kernel).to_be_visible(timeout=MILLISECONDS_TO_OPEN)

    answer = code_cell(page, "def softmax(scores, axis=-1):")
    check = code_cell(page, 'check("softmax", softmax)')
    panel = check.locator(".attention-check")

    run_all(page)
    last = page.locator(f"{NOTEBOOK} .jp-CodeCell .jp-InputArea-prompt").last
    expect(last).to_contain_text(NUMBERED, timeout=MILLISECONDS_TO_RUN_ALL)
    expect(panel).to_have_attribute("data-outcome", "unattempted")
    slider = page.get_by_role("slider", name="factor")
    again = page.get_by_text("To move the slider, run this cell again.")
    expect(slider).to_have_attribute("aria-valuetext", "1")
    expect(again).to_be_hidden()

    write(page, answer, WRONG)
    run(page, answer)
    run(page, check)
    expect(panel).to_have_attribute("data-outcome", "wrong", timeout=MILLISECONDS_TO_RUN)
    assert check.inner_text().count("the sum must run along axis only") == 1

    write(page, answer, ANSWER)
    run(page, answer)
    run(page, check)
    expect(panel).to_have_attribute("data-outcome", "right", timeout=MILLISECONDS_TO_RUN)
    expect(panel).to_be_visible()
    expect(panel).to_have_css("border-left-color", "rgb(0, 158, 115)")

    page.get_by_role("button", name="Restart the kernel").first.click()
    page.locator(".jp-Dialog .jp-mod-accept").click()
    expect(again).to_be_visible(timeout=MILLISECONDS_TO_RUN)

    expect(page.locator(".Toastify__toast")).to_have_count(0)
    assert "encryption" not in log.read_text()


def run_all(page: Page) -> None:
    """Choose Run > Run All Cells."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def code_cell(page: Page, text: str) -> Locator:
    """Return the one code cell that holds `text`."""
    return page.locator(f"{NOTEBOOK} .jp-CodeCell", has_text=text)


def write(page: Page, cell: Locator, source: str) -> None:
    """Replace what stands in a cell."""
    editor = cell.locator(".cm-content")
    editor.click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(source)
    expect(editor).to_contain_text(source.splitlines()[-1].strip())


def run(page: Page, cell: Locator) -> None:
    """Run a cell and wait until it is done."""
    prompt = cell.locator(".jp-InputArea-prompt")
    before = prompt.inner_text()
    cell.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+Enter")
    expect(prompt).not_to_have_text(before, timeout=MILLISECONDS_TO_RUN)
    expect(prompt).to_contain_text(NUMBERED, timeout=MILLISECONDS_TO_RUN)
