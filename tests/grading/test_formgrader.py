"""An instructor grades in formgrader, in a real browser: by its button, then by hand."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from nbformat.v4 import new_code_cell
from playwright.sync_api import expect, sync_playwright

from tests.grading.sample_class import LESSONS, Classroom, cell_of, make_lean_course

LESSON = LESSONS[0]
SECONDS_TO_START = 60
MILLISECONDS_TO_GRADE = 60_000
pytestmark = pytest.mark.sandbox


@pytest.fixture
def room(tmp_path) -> Classroom:
    """A class of one, whose notebook holds a script that would mark itself."""
    course = make_lean_course(tmp_path, LESSON)
    room = Classroom(course, LESSON)
    notebook = room.key()
    cell_of(notebook, "written_softmax").source += "<script>document.title = 'stolen'</script>"
    script = (
        "from IPython.display import HTML\nHTML('<script>document.title = \"stolen\"</script>')"
    )
    notebook.cells.append(new_code_cell(script))
    room.hand_in("ada", notebook)
    return room


@pytest.fixture
def address(room, tmp_path_factory):
    """The address of a Jupyter server started in the course's folder, by a new user."""
    home = tmp_path_factory.mktemp("home")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")}
    flags = ["--port=0", "--ip=127.0.0.1", "--no-browser", "--allow-root"]
    log = home / "server.log"
    runtime = home / "runtime"  # where the server writes down its address
    with log.open("w") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", *flags, "--IdentityProvider.token="],
            cwd=room.course.root,
            env={
                **kept,
                "HOME": str(home),
                "IPYTHONDIR": str(home),
                "JUPYTER_RUNTIME_DIR": str(runtime),
                "PATH": os.defpath,
            },
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield address_of(server, runtime, log)
    finally:
        server.terminate()
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def address_of(server, runtime, log):
    """Return a server's address, without a slash at the end, once it answers there."""
    written = runtime / f"jpserver-{server.pid}.json"
    deadline = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            address = json.loads(written.read_text())["url"].rstrip("/")
            with urllib.request.urlopen(f"{address}/api"):
                return address
        except (FileNotFoundError, ValueError, urllib.error.URLError):
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"Jupyter did not start. It said:\n{log.read_text()}")
            time.sleep(0.1)


@pytest.fixture
def page():
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("chromium is not installed (on Debian: apt-get install chromium)")
    sandbox = [] if os.name != "posix" or os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=sandbox)
        # Math is set by a server elsewhere; nothing here waits for it.
        context = browser.new_context()
        context.route(re.compile(r"^https?://(?!127\.0\.0\.1)"), lambda route: route.abort())
        yield context.new_page()
        browser.close()


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_a_submission_is_graded_by_button_and_by_hand(room, address, page):
    page.goto(f"{address}/formgrader/manage_submissions/{LESSON}")
    page.locator(".autograde a").click()
    success = page.get_by_text(f"Successfully autograded '{LESSON}' for student 'ada'.")
    expect(success).to_be_visible(timeout=MILLISECONDS_TO_GRADE)

    page.goto(f"{address}/formgrader/gradebook/{LESSON}/{LESSON}")
    page.get_by_text("Submission #1").click()
    points = page.locator("input.score")
    expect(points).to_have_count(len(room.exercises))
    expect(points.first).to_have_attribute("placeholder", f"{room.exercises[0].points}")
    assert page.title() != "stolen"
    expect(page.locator(".attention-check", has_text="softmax: right.").first).to_be_visible()

    rubric = page.locator(".inner_cell", has_text="Rubric of written_softmax, 2 points")
    expect(rubric).to_contain_text("Model answer")
    expect(rubric).to_contain_text("No other submission waits to be marked.")

    with page.expect_response(lambda answer: "/api/grade/" in answer.url) as saved:
        points.last.fill("1.5")
        points.last.press("Tab")
    assert saved.value.ok
    with room.course.gradebook() as gradebook:
        grade = gradebook.find_grade("written_softmax", LESSON, LESSON, "ada")
        assert grade.manual_score == 1.5
        assert grade.auto_score is None
        total = gradebook.find_submission(LESSON, "ada").score
    assert total == sum(points or 0 for points in room.most.values()) + 1.5
