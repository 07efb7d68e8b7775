"""Names of many scripts: who differs in one mark is another, however the name is written."""

import unicodedata

import pytest

from attention_lib.grading.classroom.roster import NotFound, Roster, Student


def roster(*names):
    """Return a roster of students called s0, s1, ... by first and last name."""
    pairs = (name.split("|") for name in names)
    return Roster(tuple(Student(f"s{n}", *pair) for n, pair in enumerate(pairs)), "students.csv")


def canvas(last, first):
    """Return a name as Canvas writes it: in small letters, without what is no word."""
    kept = "".join(c for c in (last + first) if unicodedata.category(c)[0] in "LMN")
    return kept.lower()


PAIRS = [
    ("किरण|कुमार", "करण|कुमार"),  # a vowel sign
    ("Hoa|Nguyễn Thị", "Hòa|Nguyễn Thị"),  # a tone
    ("مُحَمَّد|علي", "محمد|علي"),  # harakat
    ("דָּוִד|כהן", "דוד|כהן"),  # points
    ("กิตติ|ดี", "กติ|ดี"),  # vowels
    ("Zoë|Groß", "Zoe|Groß"),
    ("Anna|Groß", "Anna|Gross"),
    ("Işıl|Kaya", "İşil|Kaya"),  # dotless i
    ("Anna|Cope", "Anna|Соре"),  # Cyrillic letters that look alike
    ("Ann|Ali", "Anna|Li"),
    ("Ada|King", "Ada|King-Noel"),  # the beginning of another's
    ("José|Pérez", "Jose|Perez"),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_each_of_two_who_differ_in_a_mark_gets_their_own(one, other, form):
    both = roster(one, other)
    for student, name in zip(both.students, (one, other), strict=True):
        first, last = unicodedata.normalize(form, name).split("|")
        for written in (f"{first} {last}", f"{last}, {first}", f"{last} {first}"):
            assert both.find(written, "7").id == student.id
        assert both.find(canvas(last, first), "7", lasting=True).id == student.id


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_who_differs_in_a_mark_from_the_only_one_in_the_roster_is_asked_about(one, other):
    for mine, theirs in ((one, other), (other, one)):
        with pytest.raises(NotFound):
            roster(mine).find(theirs.replace("|", " "), "7")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Jean-Luc|O'Hara", "JeanLuc OHara"),
        ("Jean-Luc|O'Hara", "O\u2019Hara, Jean Luc"),
        ("Jean-Luc|O'Hara", "oharajeanluc"),
        ("میخک|علی\u200cزاده", "میخک علیزاده"),  # without the joiner
        ("山田|太郎", "山田太郎"),
        ("Ａｄａ|Lovelace", "Ada Lovelace"),  # full width
        ("\ufb01ona|Hall", "Fiona Hall"),  # a ligature
        ("|Suharto", "Suharto"),
        ("Sri Devi|", "Sri Devi"),
        ("MARIE|CURIE", "Marie Curie"),
        ("किरण|कुमार", "कुमारकिरण"),
    ],
)
def test_spaces_hyphens_capitals_and_width_do_not_matter(name, written):
    assert roster(name, "Bo|Li").find(written, "7").id == "s0"


def test_a_proposed_id_keeps_the_marks_of_a_name():
    with pytest.raises(NotFound, match="add the line किरण_कुमार,किरण,कुमार,,7,"):
        roster("Bo|Li").find("किरण कुमार", "7")
