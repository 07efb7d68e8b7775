"""Recognize the columns of a roster by their headings: the course's own, Moodle's and Canvas's.

Moodle writes headings in the language of the person who exports the participants; Canvas always
writes English. Columns that no roster needs are ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from attention_lib.grading.classroom.names import FORMS, words

COLUMNS = ("id", "first_name", "last_name", "email", "lms_user_id", "excused")
HEADINGS = {
    "first_name": (
        "first name, firstname, given name, vorname, prénom, nombre, nome, imię, jméno, voornaam, förnamn, "
        "fornavn, etunimi, keresztnév, ad, имя, ім'я, όνομα, 名, الاسم الأول, שם פרטי"
    ),
    "last_name": (
        "last name, lastname, surname, family name, nachname, nom, nom de famille, apellido, apellidos, "
        "apellido(s), cognome, apelido, sobrenome, nazwisko, příjmení, achternaam, efternamn, etternavn, "
        "efternavn, sukunimi, vezetéknév, soyad, soyadı, фамилия, прізвище, επώνυμο, 姓, 姓氏, الاسم الأخير, "
        "שם משפחה"
    ),
    "email": (
        "email address, e-mail address, e-mail, mail, e-mail-adresse, adresse de courriel, courriel, "
        "adresse e-mail, dirección de correo, dirección email, correo electrónico, indirizzo email, "
        "endereço de email, endereço de e-mail, adres e-mail, e-mailová adresa, e-mailadres, e-mailadresse, "
        "e-postadress, e-postadresse, sähköpostiosoite, e-mail cím, e-posta adresi, адрес электронной почты, "
        "електронна пошта, ηλεκτρονική διεύθυνση, メールアドレス, 电子邮件地址, 电子邮件, عنوان البريد الإلكتروني, "
        "כתובת דוא\"ל"
    ),
    "full_name": "full name, vollständiger name, nom complet, nombre completo, nome completo",
    "id_number": (
        "id number, idnumber, id-nummer, numéro d’identification, numéro d'identification, número de id, "
        "numero id, numer id, id-nummer, идентификационный номер, индивидуальный номер, idナンバー, 学号"
    ),
}
CANVAS = {  # as Canvas exports its gradebook, which also has `Section`
    "student": "student",
    "lastname": "last_name",
    "firstname": "first_name",
    "id": "lms_user_id",
    "sis user id": "sis_user_id",
    "sis login id": "login",
    "excused": "excused",  # an instructor may add this column
}
OWN, MOODLE_LIST, CANVAS_GRADEBOOK = "own", "moodle", "canvas"


def heading(text: str) -> str:
    """Return a heading without differences between spreadsheets: case, spaces, quotes."""
    text = unicodedata.normalize("NFC", text).casefold().replace("_", " ").strip(" \"'\ufeff")
    return re.sub(r"\s+", " ", text)


KNOWN = {
    heading(one): name for name, listed in HEADINGS.items() for one in listed.split(", ")
} | {heading(name): name for name in COLUMNS}


def recognize(headings: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """Return the kind of table and the names of its columns, "" for columns not needed.

    Return None if it is not a roster: it has no id, no first and last name and no address, or two
    columns have the same name.
    """
    found = [heading(one) for one in headings]
    if _is_canvas(set(found)):
        names = [CANVAS.get(one, "") for one in found]
        first = [name if name not in names[:index] else "" for index, name in enumerate(names)]
        return CANVAS_GRADEBOOK, tuple(first)
    names = [KNOWN.get(one, "") or _full_name(one) for one in found]
    count = Counter(filter(None, names))
    by_name = "full_name" in count or {"first_name", "last_name"} <= count.keys()
    is_complete = "id" in count or "email" in count or by_name
    if not is_complete or max(count.values()) > 1:
        return None
    return OWN if "id" in count else MOODLE_LIST, tuple(names)


def _full_name(text: str) -> str:
    """Return "full_name" for first and last name in one column, as on Moodle's page; else ""."""
    parts = sorted(KNOWN.get(part.strip(), "") for part in text.split("/"))
    return "full_name" if parts == ["first_name", "last_name"] else ""


def _is_canvas(found: set[str]) -> bool:
    has_names = "student" in found or {"lastname", "firstname"} <= found
    return has_names and "id" in found and bool({"section", "sis login id", "sis user id"} & found)


def cells_of(kind: str, names: Sequence[str], row: Sequence[str]) -> dict[str, str] | None:
    """Return a row's cells by roster column, or None if the row is not a student's.

    If a platform's table has no id for a student's folders, use another value that is unique there.
    """
    cells = {name: one for name, one in zip(names, row, strict=False) if name}
    if kind == CANVAS_GRADEBOOK:
        name = re.sub(r'^="(.*)"$', r"\1", cells.get("student", ""))
        if name == "Student, Test" or name.startswith("Points Possible") or not cells.get("lms_user_id"):
            return None
        last, _, first = name.rpartition(", ")
        cells = {"first_name": first, "last_name": last, **cells}
        login = cells.get("login", "")
        cells |= {"email": login if "@" in login else ""}
        cells |= {"id": login or cells.get("sis_user_id") or cells["lms_user_id"]}
    elif not (cells.get("first_name") or cells.get("last_name")):  # as in a grading worksheet
        first, _, last = cells.get("full_name", "").rpartition(" ")
        cells |= {"first_name": first, "last_name": last}
    if kind == MOODLE_LIST:
        whole = f"{cells.get('first_name', '')} {cells.get('last_name', '')}"
        cells |= {"id": cells.get("id_number") or cells.get("email") or id_from(whole)}
    return cells


def id_from(name: str) -> str:
    """Return an id made from a name, such as `ada_lovelace`."""
    return "_".join(words(FORMS[1](name))) or "student"
