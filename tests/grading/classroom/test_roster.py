"""The roster ties names, e-mail addresses and LMS ids to one student, and guesses nobody."""

import re
import textwrap

import pytest
from nbgrader.apps.dbapp import DbStudentImportApp

from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.classroom.roster import NotFound, class_list, read_roster
from tests.grading.sample_class import LESSONS, ROOT, make_course, quietly

LESSON = LESSONS[0]
LINES = f"""id,first_name,last_name,email,lms_user_id,excused
ada,Ada,Lovelace,a.l@uni.edu,12345,
bo,Bo,O'Hara,,,{LESSON}
li1,Min,Li,li1@uni.edu,,
li2,Min,Li,li2@uni.edu,,
zoe,Zoë,Müller-Groß,,,
"""


@pytest.fixture
def course(tmp_path):
    return make_course(tmp_path, LESSON)


def test_roster_of_the_documentation_is_read(tmp_path):
    text = (ROOT / "docs" / "teaching.md").read_text("utf-8")
    example = re.search(r"^    id,first_name.*\n(?:    .*\n)+", text, re.MULTILINE)
    course = make_course(tmp_path, *LESSONS)
    course.roster.parent.mkdir()
    course.roster.write_text(textwrap.dedent(example.group()), "utf-8")
    assert [student.id for student in read_roster(course).students] == ["ada", "bo"]


@pytest.fixture
def write(course):
    def write(text, encoding="utf-8"):
        course.roster.parent.mkdir(exist_ok=True)
        course.roster.write_text(text, encoding=encoding)
        return read_roster(course)

    return write


@pytest.mark.parametrize(
    ("name", "lms_id", "student"),
    [
        ("ada", "", "ada"),
        ("a.l@uni.edu", "", "ada"),
        ("anything", "12345", "ada"),
        ("Ada Lovelace", "", "ada"),
        ("lovelaceada", "", "ada"),
        ("Lovelace, Ada", "", "ada"),
        ("oharabo", "77", "bo"),
        ("müllergroßzoë", "", "zoe"),
        ("Zoe\u0308 Müller-Groß", "", "zoe"),
    ],
)
def test_student_is_found_by_id_address_lms_id_or_name(write, name, lms_id, student):
    assert write(LINES).find(name, lms_id).id == student


def test_who_could_be_several_is_asked_about_with_the_lines_to_write(write):
    with pytest.raises(NotFound) as question:
        write(LINES).find("Min Li", "678")
    assert "for li1 make its line li1,Min,Li,li1@uni.edu,678," in str(question.value)
    assert "or for li2 make its line li2,Min,Li,li2@uni.edu,678," in str(question.value)
    hint = "check first_name, last_name, email and add the line min_li,Min,Li,,678,"
    assert str(question.value).endswith(hint)


def test_namesake_with_another_lasting_id_is_not_taken_for_the_student(write):
    roster = write(LINES)
    assert roster.find("Ada Lovelace", "999").id == "ada"
    with pytest.raises(NotFound, match="add the line ada_lovelace,Ada,Lovelace,,999,"):
        roster.find("Ada Lovelace", "999", lasting=True)


def test_who_is_not_in_the_roster_is_asked_about_beside_whom_the_name_resembles(write):
    roster = write(LINES)
    with pytest.raises(NotFound, match="for ada make its line ada,Ada,Lovelace,.*12345 99"):
        roster.find("Ada Lovelase", "99")
    with pytest.raises(NotFound, match="has no student 'x,y': check .* add the line x_y,"):
        roster.find("x,y")


@pytest.mark.parametrize("name", ["Eve Moneypenny", "Moneypenny, Eve"])
def test_proposed_line_says_what_to_check_in_it(write, name):
    with pytest.raises(NotFound) as question:
        write(CANVAS).find(name, "7")
    assert "check Student, SIS Login ID and add the line " in str(question.value)
    assert '"Moneypenny, Eve"' in str(question.value)
    with pytest.raises(NotFound, match="has no student 'eve': add the line eve"):
        write("id,note\nada,\n").find("eve")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has to be id,first_name,last_name,email,lms_user_id,excused"),
        ("name\nada\n", "has to be id,"),
        ("id\nada\nAda\n", "line 3: the id 'Ada' stands in an earlier line"),
        ("id,email\nada,x@y\nbo,X@y\n", "line 3: the email"),
        ("id,lms_user_id\nada,1 2\nbo,2\n", "line 3: the lms_user_id '2'"),
        ("id,lms_user_id\nada,1.23457E+12\n", "line 2: a spreadsheet has shortened a number"),
        ("id;lms_user_id\nada;1,23E+16\n", "shortened a number to 1,23E"),
        ("first name,last name,id number\nAda,Li,2E+11\n", "shortened a number to 2E"),
        ("id\n../x\n", "line 2: the id '../x' cannot be the name"),
        ("id\n..\n", "cannot be the name"),
        ("id,email\n,x@y\n", "cannot be the name"),
        ("id\na*\n", "cannot be the name"),
        ("id,excused\nada,99_x\n", "'99_x', which is no lesson"),
        ('id,first_name\nada,Ada\nbo,"Bo\nzoe,Zoe\n', "line 3: quotes do not enclose"),
        pytest.param(f'id,first_name\nada,"{"x" * 200_000}', "line 2: quotes do not enclose", id="huge"),
        ("id\nada,b\n", "more cells than the first line"),
    ],
)
def test_line_that_cannot_be_meant_so_is_named(write, text, why):
    with pytest.raises(CourseError, match=why):
        write(text)


def test_roster_that_excel_saves_on_windows_is_read(write):
    roster = write("id;first_name;last_name\nzoe;Zoë;O’Šea\n", "cp1252")
    assert roster.find("Zoë O’Šea", "7").id == "zoe"


def test_roster_that_is_no_text_is_an_error(write):
    with pytest.raises(CourseError, match="save it as UTF-8"):
        write("id,first_name\nzoe,Zoë\x81\n", "latin-1")


def test_spreadsheets_mark_at_the_start_and_empty_lines_do_not_matter(write):
    assert [one.id for one in write("\ufeffID, Email\n\nada,\n,\n").students] == ["ada"]


PLAIN = "id,first_name,last_name,email,lms_user_id,excused"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (f"{PLAIN},,,\nada,Ada,Lovelace,a@b.c,5,,,,,\nbo,Bo,\"Li, Jr.\",,,,,\n,,,,,\n", "utf-8"),
        (f"{PLAIN}\r\nada,Ada,Lovelace,a@b.c,5\r\nbo,Bo,\"Li, Jr.\"\r\n", "utf-8-sig"),
        (f"{PLAIN}\nada,Ada,Lovelace,a@b.c,5,,,\nbo,Bo,\"Li, Jr.\",,,\n".upper(), "utf-8"),
        (f"{PLAIN}\nada,Ada,Lovelace,a@b.c,5\nbo,Bo,LiX Jr.\n".replace(",", ";"), "utf-8"),
        (f"{PLAIN}\nada,Ada,Lovelace,a@b.c,5\nbo,Bo,LiX Jr.\n".replace(",", "\t"), "utf-16"),
        (f"sep=;\n{PLAIN}\n ada ,Ada,Lovelace,a@b.c,5\nbo,Bo,LiX Jr.\n".replace(",", ";"), "utf-8"),
        ("ID,First Name,Last Name,E-Mail,LMS User ID\nada,Ada,Lovelace,a@b.c,5\nbo,Bo,LiX Jr.\n", "utf-8"),
    ],
)
def test_what_spreadsheets_add_or_exchange_does_not_matter(write, text, encoding):
    ada, bo = write(text.replace("X", ","), encoding).students if ";" in text or "\t" in text else (
        write(text.replace("LiX Jr.", '"Li, Jr."'), encoding).students
    )
    assert (ada.id, ada.full_name, ada.lms_user_ids) in (
        ("ada", "Ada Lovelace", ("5",)),
        ("ADA", "ADA LOVELACE", ("5",)),
    )
    assert bo.last_name.casefold() == "li, jr."


MOODLE = '''"First name","Last name","ID number","Email address",Groups
Ada,Lovelace,,ada@uni.edu,"A, B"
Bo,O'Hara,s77,bo@uni.edu,
'''
HEADINGS = [
    "Vorname,Nachname,ID-Nummer,E-Mail-Adresse,Gruppen",
    "Nombre,Apellido(s),Número de ID,Dirección de correo,Grupos",
    "Prénom,Nom de famille,Numéro d’identification,Adresse de courriel,Groupes",
    "Nome,Cognome,Codice,Indirizzo email,Gruppi",
    "Имя,Фамилия,Индивидуальный номер,Адрес электронной почты,Группы",
    "FIRST NAME,SURNAME,ID NUMBER,EMAIL ADDRESS,GROUPS",
]


@pytest.mark.parametrize("headings", [MOODLE.partition("\n")[0], *HEADINGS])
def test_moodles_list_of_participants_is_a_roster(write, headings):
    roster = write("\ufeff" + headings + "\n" + MOODLE.partition("\n")[2])
    ada, bo = roster.students
    assert (ada.id, ada.full_name, ada.email) == ("ada@uni.edu", "Ada Lovelace", "ada@uni.edu")
    assert bo.id in ("s77", "bo@uni.edu")
    assert roster.find("Bo O'Hara", "801").id == bo.id


WORKSHEET = """Identifier,"Full name","Email address",Status,Grade,"Maximum Grade"
Participant 801,Ada Lovelace,ada@uni.edu,,,12
Participant 802,Fatima Zahra El Amrani,fz@uni.edu,,,12
"""


@pytest.mark.parametrize(
    "text",
    [
        WORKSHEET,
        WORKSHEET.replace("Identifier", "id"),
        WORKSHEET.replace('"Full name"', "First name / Last name"),
    ],
)
def test_moodles_grading_worksheet_is_a_roster(write, text):
    roster = write(text)
    assert [one.full_name for one in roster.students] == ["Ada Lovelace", "Fatima Zahra El Amrani"]
    assert roster.find("Fatima Zahra El Amrani", "99").email == "fz@uni.edu"


CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,01_softmax (901),Final Score
,,,,,Manual Posting,
    Points Possible,,,,,12,(read only)
"Lovelace, Ada",12345,,ada@uni.edu,CS 1,,
"O'Hara, Bo",23456,s77,bo,CS 1,7,58
Suharto,34567,,,CS 1,EX,
"Student, Test",45678,,1f2e3d,CS 1,,
"""


def test_canvas_gradebook_is_a_roster(write):
    ada, bo, suharto = write(CANVAS).students
    assert (ada.id, ada.first_name, ada.last_name) == ("ada@uni.edu", "Ada", "Lovelace")
    assert (ada.email, ada.lms_user_ids) == ("ada@uni.edu", ("12345",))
    assert (bo.id, bo.full_name, bo.lms_user_ids) == ("bo", "Bo O'Hara", ("23456",))
    assert (suharto.id, suharto.full_name) == ("34567", "Suharto")
    split = CANVAS.replace("Student,ID", "LastName,FirstName,ID").replace(", ", '","')
    split = split.replace("Possible,", "Possible,,").replace("\n,,", "\n,,,")
    split = split.replace("Suharto,", "Suharto,,")
    assert [one.full_name for one in write(split).students][:2] == ["Ada Lovelace", "Bo O'Hara"]


@pytest.mark.parametrize(
    ("text", "name", "number"),
    [
        (LINES, "Eve Moneypenny", "7"),
        ("id,first_name,last_name,email,lms_user_id\n", "Eve, Jr. Money\"penny", "7"),
        (MOODLE, "Eve Moneypenny", "801"),
        (CANVAS, "moneypennyeve", "7"),
        (MOODLE.replace(",", ";"), "Eve Moneypenny", ""),
        (WORKSHEET, "Eve Moneypenny", ""),
        ("last_name,first_name,note,id\n", "Eve Moneypenny", ""),
    ],
)
def test_proposed_line_can_be_pasted_as_it_is(course, write, text, name, number):
    with pytest.raises(NotFound) as question:
        write(text).find(name, number)
    line = str(question.value).rpartition("add the line ")[2]
    assert write(f"{text}{line}\n").find(name, number).full_name


NAMESAKES = "Min,Li,,l1@uni.edu,\nMin,Li,,l2@uni.edu,\n"


OWN = "id,first_name,last_name\nli1,Min,Li\nli2,Min,Li\n"
BY_EXCEL = (MOODLE + NAMESAKES).replace('"A, B"', "").replace("\n", ",,\n").replace(",", ";")


@pytest.mark.parametrize(
    "text",
    [OWN, MOODLE + NAMESAKES, BY_EXCEL, OWN.replace("\n", ",,\n")],
    ids=["own", "moodle", "moodle by excel", "own by excel"],
)
def test_where_a_number_has_no_column_the_lines_proposed_give_it_one(write, text):
    with pytest.raises(NotFound) as question:
        write(text).find("Min Li", "7")
    first, line = re.search(
        r"make the first line (.+?) and for \S+ make its line (.+?) or for", str(question.value)
    ).groups()
    _, *others = text.splitlines()
    others = [line if "Min" in one and ("li1" in one or "l1@" in one) else one for one in others]
    assert write("\n".join([first, *others])).find("Min Li", "7").id in ("li1", "l1@uni.edu")


def test_an_id_of_one_letter_is_not_had_by_two(write):
    with pytest.raises(CourseError, match="stands in an earlier line too"):
        write("id\na\na\n")


@pytest.mark.slow
def test_gradebook_gets_the_roster_and_keeps_who_else_is_in_it(course, write):
    roster = write(LINES)
    with course.gradebook() as gradebook:
        gradebook.add_student("eve")
        quietly(roster.enroll, gradebook)
        quietly(roster.enroll, gradebook)
        found = gradebook.find_student("ada")
        assert (found.first_name, found.email, found.lms_user_id) == ("Ada", "a.l@uni.edu", "12345")
        assert len(gradebook.students) == 6
        assert "eve" not in [one.id for one in class_list(course, gradebook)]
        course.roster.unlink()
        assert {one.id for one in class_list(course, gradebook)} >= {"eve", "ada"}


@pytest.mark.slow
def test_nbgraders_own_import_reads_the_roster(course, write, monkeypatch):
    write(LINES)
    monkeypatch.chdir(course.root)
    DbStudentImportApp.clear_instance()
    app = DbStudentImportApp.instance()
    quietly(app.initialize, [str(course.roster)])
    quietly(app.start)
    DbStudentImportApp.clear_instance()
    with course.gradebook() as gradebook:
        assert {one.id for one in gradebook.students} == {"ada", "bo", "li1", "li2", "zoe"}
        assert gradebook.find_student("ada").lms_user_id == "12345"
