"""Checks what `qkvet exam export` wrote: FOLDER/FORMAT for each format, FOLDER/exam for the exam itself.

With QKVET_TEST_QTI_XSD the folder of 1EdTech's schemas, packages of QTI 2.1 are validated against them as well.
"""

import csv
import html.parser
import io
import json
import logging
import os
import re
import sys
import zipfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import numpy as np
import pyslet.qtiv1.assessment
import pyslet.qtiv1.common
import pyslet.qtiv1.core
import pyslet.qtiv1.xml
import typst
from lxml import etree
from moodle_xml_parser.parser import parse_file
from qti_convert import upgrade_qti2_to_qti3

FOLDER = Path(sys.argv[1])
# Those that Moodle knows, of what we write.
FRACTIONS = {100, 90, 80, 75, 70, 60, 50, 40, 30, 25, 20, 10, 5, 0}
# Moodle's own expressions (question/type/multianswer), shortened to what we write.
NUMBER = r"-?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?"
GAP = re.compile(r"\{1:(NUMERICAL|SHORTANSWER):((?:\\.|[^}\\])*)\}")
ALTERNATIVE = re.compile(rf"(?:=|%[0-9]+%)(?:{NUMBER}:{NUMBER}|-?[0-9]+(?: ?/ ?|\.)?[0-9]*)(?:#(?:\\.|[^~}}#\\])*)?")


def bare(tag):
    return tag.split("}")[-1]


def files(form, pattern):
    found = sorted((FOLDER / form).glob(pattern))
    assert found, f"{form}: no {pattern}"
    return found


def keyed_numbers():
    """Of every part with numbers, by the id that formats give it: points, right rows, and the rows of each mistake of that shape."""
    parts = {}
    for path in files("exam", "key/*.json"):
        for at, question in enumerate(json.loads(path.read_text())["questions"], 1):
            for letter, part in zip("abcdefghijklmnopqrstuvwxyz", question["parts"]):
                if not isinstance(part["answer"], dict) or "numbers" not in part["answer"]:
                    continue
                if part["answer"]["numbers"]["choices"]:
                    continue
                key = part["answer"]["numbers"]["key"]["rows"]
                wrong = [mistake["numbers"]["rows"] for mistake in part["mistakes"]]
                wrong = [rows for rows in wrong if [len(row) for row in rows] == [len(row) for row in key]]
                parts[f"{path.stem}-{at}{letter}"] = (part["points"], key, wrong)
    return parts


def entered(text):
    """A printed number as it is typed into a field: a decimal where it ends."""
    number = Fraction(text)
    if "/" not in text or 10**15 % number.denominator:
        return text
    return str(Decimal(number.numerator) / Decimal(number.denominator))


def moodle():
    kinds = set()
    n_mistakes = 0
    parts = keyed_numbers()
    for path in files("moodle", "key/*.xml"):
        names = set()
        for question in ElementTree.parse(path).getroot():
            kind = question.get("type")
            kinds.add(kind)
            if kind == "category":
                assert question.findtext("category/text").startswith("$course$/top/")
                continue
            assert question.findtext("name/text").strip() and question.findtext("questiontext/text").strip()
            number = question.findtext("idnumber")
            assert number not in names, number
            names.add(number)
            answers = question.findall("answer")
            for answer in answers:
                assert int(answer.get("fraction")) in FRACTIONS, answer.get("fraction")
                if kind == "numerical":
                    assert re.fullmatch(NUMBER, answer.findtext("text")) and Decimal(answer.findtext("tolerance")) >= 0
            if kind in ("numerical", "shortanswer", "multichoice"):
                assert sum(answer.get("fraction") == "100" for answer in answers) >= 1, number
            if kind == "multichoice":
                texts = [answer.findtext("text") for answer in answers]
                assert len(texts) == len(set(texts)) >= 2, number
            if kind == "matching":
                assert len(question.findall("subquestion")) >= 2, number
            if kind == "cloze":
                text = question.findtext("questiontext/text")
                gaps = GAP.findall(text)
                assert len(gaps) == text.count("{1:") >= 2, number
                alternatives = [re.split(r"(?<!\\)~", inside) for _, inside in gaps]
                for alternative in sum(alternatives, []):
                    assert ALTERNATIVE.fullmatch(alternative), alternative
                    percent = re.match(r"%([0-9]+)%", alternative)
                    assert percent is None or int(percent[1]) in FRACTIONS - {100}, alternative
                n_mistakes += cloze_mistakes(number, alternatives, parts)
        parsed_moodle(path)
    print("moodle:", " ".join(sorted(kinds)), n_mistakes, "mistakes in matrices")


def cloze_mistakes(number, gaps, parts):
    """What a mistake in the whole matrix earns: half of it at most, unless its right entries alone earn more."""
    if number not in parts:
        return 0
    _, key, wrong = parts[number]

    def earned(gap, given):
        for alternative in gap:
            percent, text = re.match(r"(=|%[0-9]+%)((?:\\.|[^#\\])*)", alternative).groups()
            text, _, tolerance = text.replace("\\", "").partition(":")
            is_it = abs(Decimal(text) - Decimal(given)) <= Decimal(tolerance) if tolerance else text == given
            if is_it:
                return 100 if percent == "=" else int(percent[1:-1])
        return 0

    def marks(rows):
        flat = [entered(text) for row in rows for text in row]
        assert len(flat) == len(gaps)
        return [earned(gap, text) if is_typed(gap, text) else 0 for gap, text in zip(gaps, flat)]

    def is_typed(gap, text):
        return ":" not in gap[0] or "/" not in text

    assert marks(key) == [100] * len(gaps), number
    for rows in wrong:
        own = marks(rows)
        assert sum(own) <= max(50 * len(own), 100 * own.count(100)), (number, rows, own)
    return len(wrong)


def parsed_moodle(path):
    """What a reader of Moodle's XML that others wrote makes of the same file."""
    parsed = parse_file(str(path))
    root = ElementTree.parse(path).getroot()
    for kind in ("cloze", "multichoice"):
        written = [question for question in root if question.get("type") == kind]
        assert [q.name for q in parsed[kind]] == [q.findtext("name/text") for q in written], kind
    for question in parsed["cloze"]:
        # It takes braces of formulas for gaps without a type.
        gaps = [gap for gap in question.gaps if gap.sub_type != "UNKNOWN"]
        assert len(gaps) == question.text_pre_parse.count("{1:") >= 2, question.name
        for gap in gaps:
            right, *others = gap.options
            assert gap.sub_type in ("NUMERICAL", "SHORTANSWER") and right.score == 100, gap
            assert all(0 <= other.score < 100 and other.feedback for other in others), gap
    for question in parsed["multichoice"]:
        assert question.single and sorted(option.score_fraction for option in question.options)[-1] == 100, question.name


def packages(form):
    for path in files(form, "key/*.zip"):
        archive = zipfile.ZipFile(path)
        assert archive.testzip() is None
        names = set(archive.namelist())
        manifest = ElementTree.fromstring(archive.read("imsmanifest.xml"))
        listed = {e.get("href") for e in manifest.iter() if bare(e.tag) == "file"}
        assert listed == names - {"imsmanifest.xml"}, (listed, names)
        yield archive


def qti12():
    n = 0
    for archive in packages("qti12"):
        name = next(name for name in archive.namelist() if name.count("/") and not name.endswith("meta.xml"))
        text = archive.read(name)
        known = known_elements(text)
        # What it does not know at its place it leaves out.
        written = [bare(e.tag) for e in ElementTree.fromstring(text).iter()]
        assert len(known) == len(written) and known.count("Item") == written.count("item") > 0
        spoiled = text.replace(b"<resprocessing>", b"<varequal respident='x'>1</varequal><resprocessing>", 1)
        assert len(known_elements(spoiled)) == len(written), "an element at a place that is not its own is left out"
        for item in ElementTree.fromstring(archive.read(name)).iter():
            if bare(item.tag) == "item":
                n += 1
                canvas_item(item)
    print("qti12:", n, "items")


def known_elements(text):
    """The elements of QTI 1.2 as pyslet reads them, by name, without those that it does not know at their place."""
    # Two names that it forgot, both of elements that may stand there and do not here.
    pyslet.qtiv1.assessment.Assessment.QTIAssessProcExtension = None
    pyslet.qtiv1.core.QTIComment = pyslet.qtiv1.common.QTIComment
    document = pyslet.qtiv1.xml.QTIDocument()
    logging.disable(logging.CRITICAL)  # It warns of each line of HTML that is no paragraph.
    document.read(src=io.BytesIO(text))
    logging.disable(logging.NOTSET)
    names = []
    left = [document.root]
    while left:
        element = left.pop()
        assert type(element).__module__.startswith("pyslet.qtiv1."), element
        names.append(type(element).__name__)
        # Text, and HTML within it, is none of QTI's.
        left += [] if names[-1] == "MatText" else [e for e in element.get_children() if hasattr(e, "get_children")]
    return names


def canvas_item(item):
    """Marks answers as the processing of the item says: one is worth everything, some other is not."""
    parts = {e.get("ident"): e for e in item.iter() if bare(e.tag) in ("response_str", "response_lid")}
    labels = [e.get("ident") for e in item.iter() if bare(e.tag) == "response_label"]
    fields = {e[0].text: e[1].text for e in item.iter() if bare(e.tag) == "qtimetadatafield"}
    kind = fields["question_type"]
    assert Decimal(fields["points_possible"]) > 0
    linked = {e.get("linkrefid") for e in item.iter() if bare(e.tag) == "displayfeedback"}
    assert linked == {e.get("ident") for e in item.iter() if bare(e.tag) == "itemfeedback"}
    asked = [e for e in item.iter() if bare(e.tag) in ("varequal", "vargte", "varlte")]
    assert all(e.get("respident") in parts for e in asked)

    def holds(condition, given):
        tag, value = bare(condition.tag), condition.text
        if tag in ("and", "or", "conditionvar"):
            # Conditions side by side are alternatives, as in short answers.
            return (all if tag == "and" else any)(holds(child, given) for child in condition)
        if tag == "other":
            return True
        own = given[condition.get("respident")]
        if kind == "numerical_question":
            own, value = Decimal(own), Decimal(value)
        return {"varequal": own == value, "vargte": own >= value, "varlte": own <= value}[tag]

    def score(given):
        total = Decimal(0)
        for condition in (e for e in item.iter() if bare(e.tag) == "respcondition"):
            sets = [e for e in condition if bare(e.tag) == "setvar"]
            if sets and holds(next(e for e in condition if bare(e.tag) == "conditionvar"), given):
                total = Decimal(sets[0].text) + (total if sets[0].get("action") == "Add" else 0)
        return total

    if kind == "essay_question":
        return
    if kind == "matching_question":
        right = {e.get("respident"): e.text for e in asked}
        assert set(right) == set(parts)
        assert score(right) == 100
        assert score({part: "none" for part in parts}) == 0
        assert 0 < score({**right, next(iter(parts)): "none"}) < 100
        return
    only = next(iter(parts))
    if kind == "multiple_choice_question":
        assert sorted(score({only: label}) for label in labels) == [0] * (len(labels) - 1) + [100]
        return
    right = next(e.text for e in asked if bare(e.tag) == "varequal")
    assert score({only: right}) == 100
    if kind == "numerical_question":
        assert right == "0" or abs(Decimal(right)) >= Decimal("0.0001") or Decimal(right) == 0, right
        ends = [Decimal(e.text) for e in asked if bare(e.tag) in ("vargte", "varlte")]
        assert score({only: str(ends[0])}) == score({only: str(ends[1])}) == 100
        assert score({only: str(ends[0] - Decimal("1e-9"))}) == score({only: str(ends[1] + Decimal("1e-9"))}) == 0
    else:
        assert kind == "short_answer_question" and score({only: right + "1"}) == 0


def qti21():
    schemas = os.environ.get("QKVET_TEST_QTI_XSD")
    if schemas:
        item = etree.XMLSchema(etree.parse(f"{schemas}/qtiv2p1p1/imsqti_v2p1p1.xsd"))
        package = etree.XMLSchema(etree.parse(f"{schemas}/imscp_v1p1.xsd"))
    n, n_mistakes = 0, 0
    parts = keyed_numbers()
    for archive in packages("qti21"):
        for name in archive.namelist():
            text = archive.read(name)
            if schemas:
                (package if name == "imsmanifest.xml" else item).assertValid(etree.parse(io.BytesIO(text)))
            if name.startswith("q-"):
                n += 1
                new = upgrade_qti2_to_qti3(text.decode())
                root = etree.fromstring(new.encode())
                assert bare(root.tag) == "qti-assessment-item"
                assert len(root.findall(".//{*}math")) == text.count(b"<math "), name
                declared = {e.get("identifier") for e in root.iter() if str(e.tag).endswith("-declaration")}
                used = {e.get("response-identifier") for e in root.iter() if str(e.tag).endswith("-interaction")}
                assert used and used <= declared, name
                n_mistakes += qti21_numbers(name[2:-4], etree.fromstring(text), parts)
    print("qti21:", n, "items,", n_mistakes, "mistakes", "valid under the schemas" if schemas else "")


def qti21_numbers(number, item, parts):
    """Marks numbers as the processing of the item says: right ones, those of mistakes, some right ones."""
    declared = {e.get("identifier"): e.get("baseType") for e in item.iter("{*}responseDeclaration")}
    processing = item.find("{*}responseProcessing")
    if number not in parts or "RESPONSE" in declared:
        return 0
    points, key, wrong = parts[number]

    def value(e, given, score):
        if bare(e.tag) == "baseValue":
            return e.text
        own = score if e.get("identifier") == "SCORE" else given[e.get("identifier")]
        return own

    def holds(e, given):
        tag = bare(e.tag)
        if tag in ("and", "or"):
            return (all if tag == "and" else any)(holds(child, given) for child in e)
        left, right = (value(child, given, None) for child in e)
        if tag == "stringMatch":
            return left == right
        assert tag == "equal" and "/" not in left
        tolerance = Decimal(e.get("tolerance").split()[0]) if e.get("toleranceMode") == "absolute" else 0
        return abs(Decimal(left) - Decimal(right)) <= tolerance

    def run(rules, given, score):
        for rule in rules:
            if bare(rule.tag) == "setOutcomeValue":
                of = rule[0]
                terms = list(of) if bare(of.tag) == "sum" else [of]
                score = sum(Decimal(value(term, given, score)) for term in terms)
                continue
            assert bare(rule.tag) == "responseCondition"
            for branch in rule:
                otherwise = bare(branch.tag) == "responseElse"
                if otherwise or holds(branch[0], given):
                    score = run(branch if otherwise else branch[1:], given, score)
                    break
        return score

    def marks(rows):
        given = {f"R{i}C{j}": entered(x) for i, row in enumerate(rows, 1) for j, x in enumerate(row, 1)}
        if any(declared[name] == "float" and "/" in text for name, text in given.items()):
            return None
        return run(processing, given, Decimal(0))

    assert marks(key) == points, number
    for rows in wrong:
        assert marks(rows) in (None, Decimal(points) / 2), (number, rows, marks(rows))
    n = len(declared)
    if n > 1:
        one = [list(row) for row in key]
        one[0][0] = "987654.5"
        least = Decimal(points) / 2 * (n - 1) / n
        assert least - Decimal(n) / 100 <= marks(one) <= least + Decimal(n) / 100, (number, marks(one))
    return len(wrong)


class Elements(html.parser.HTMLParser):
    """Elements of PrairieLearn with their attributes; tags must close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.found = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        if tag.startswith("pl-"):
            self.found.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


KNOWN = {
    "pl-question-panel": set(),
    "pl-answer-panel": set(),
    "pl-manual-grading-only": set(),
    "pl-rich-text-editor": {"file-name"},
    "pl-number-input": {
        "answers-name", "label", "correct-answer", "comparison", "rtol", "atol", "show-help-text", "show-placeholder",
    },
    "pl-string-input": {"answers-name", "label", "correct-answer", "remove-spaces", "placeholder"},
    "pl-multiple-choice": {"answers-name", "order"},
    "pl-order-blocks": {
        "answers-name", "grading-method", "partial-credit", "feedback", "source-blocks-order",
    },
    "pl-answer": {"correct", "score", "feedback", "tag", "depends", "distractor-feedback"},
    "pl-matching": {"answers-name", "fixed-order", "fixed-options-order", "partial-credit", "counter-type"},
    "pl-statement": {"match"},
    "pl-option": {"name"},
}


def prairielearn():
    uuids, n = set(), 0
    for path in files("prairielearn", "key/questions/*/*/info.json"):
        info = json.loads(path.read_text())
        assert {"uuid", "title", "topic", "type"} <= set(info) <= {
            "uuid", "title", "topic", "type", "singleVariant", "gradingMethod",
        }
        assert info["type"] == "v3" and re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", info["uuid"])
        assert info["uuid"] not in uuids
        uuids.add(info["uuid"])
        text = (path.parent / "question.html").read_text()
        assert "{{" not in text
        page = Elements()
        page.feed(text)
        assert not page.open
        for tag, attributes in page.found:
            assert set(attributes) <= KNOWN[tag], (tag, attributes)
        names = [attributes["answers-name"] for _, attributes in page.found if "answers-name" in attributes]
        assert len(names) == len(set(names)) and (names or info.get("gradingMethod") == "Manual")
        n += 1
    print("prairielearn:", n, "questions")


def marked_words(name, lines, values, points):
    """Letters and truth values earn the same however they are written, and others earn less."""
    right = values[name]
    ways, wrong = [], []
    if isinstance(right, str) and re.fullmatch("[A-Z]+", right):
        ways = [right.lower(), f"({right})", " ".join(right)]
        wrong = ["z", ""]
    elif isinstance(right, list) and all(isinstance(one, bool) for one in right):
        letters = "".join("T" if one else "F" for one in right)
        ways = [letters, letters.lower(), ", ".join(map(str, right)), list(letters), [str(one) for one in right]]
        wrong = ["".join("F" if one else "T" for one in right), letters + "T", None]
    for given, earns in [(one, points) for one in ways] + [(one, 0) for one in wrong]:
        values[name] = given
        exec("\n".join(lines[:-1]), values)
        assert eval(lines[-1], values) == earns, (name, right, given)
    values[name] = right


def notebooks():
    for path in files("notebook", "key/*.ipynb"):
        key = nbformat.read(path, 4)
        student = nbformat.read(FOLDER / "notebook" / "student" / path.name, 4)
        for book in (key, student):
            nbformat.validate(book)
        assert [cell.metadata for cell in key.cells] == [cell.metadata for cell in student.cells]
        ids, earned, points = set(), 0, 0
        values = {}
        for own, other in zip(key.cells, student.cells):
            graded = own.metadata.get("nbgrader")
            if graded:
                assert {"schema_version", "grade_id", "grade", "solution", "locked"} <= set(graded)
                assert ("points" in graded) == graded["grade"] and graded["schema_version"] == 3
                assert re.fullmatch(r"[a-zA-Z0-9_\-]+", graded["grade_id"]) and graded["grade_id"] not in ids
                ids.add(graded["grade_id"])
            if own.cell_type != "code":
                continue
            assert "BEGIN" not in other.source and "_key" not in other.source, other.source
            lines = [line for line in own.source.strip().splitlines() if not line.startswith("###")]
            if not graded["grade"]:
                assert own.metadata["qkvet"]["part"] and other.source.endswith("= None")
                exec("\n".join(lines), values)
                continue
            exec("\n".join(lines[:-1]), values)
            earned += eval(lines[-1], values)
            if "_earned()" in lines[-1]:
                marked_numbers(lines, values, graded["points"])
            marked_words(re.search(r"answer_\w+", own.source).group(), lines, values, graded["points"])
            points += graded["points"]
        assert earned == points > 0, (path, earned, points)
    print("notebook: full points for the key")


def marked_numbers(lines, values, points):
    """Other ways to write the right numbers, other layouts, and what mistakes give."""
    name = re.search(r"_rows\((\w+)\)", lines[-2])[1]
    key, mistakes, own = values["_key"], values["_mistakes"], values[name]

    def marks(answer):
        values[name] = answer
        exec("\n".join(lines[:-1]), values)
        return eval(lines[-1], values)

    n, m = len(key), len(key[0])
    texts = [[text for text, _ in row] for row in key]
    assert marks(texts) == points
    if not any("/" in text for row in texts for text in row):
        assert marks(np.array([[float(text) for text in row] for row in texts])) == points
    assert marks([[float(Fraction(text)) for text in row] for row in texts]) == points, (texts, key)
    if n > 1 and m > 1:
        assert marks(sum(texts, [])) == 0
    if n != m and n > 1:
        assert marks([list(column) for column in zip(*texts)]) == 0
    if (n, m) == (1, 1) and Decimal(key[0][0][1]) > 0 and Decimal(key[0][0][0]) > 0:
        assert marks(f"sqrt({texts[0][0]}^2)") == points
    assert marks("words") == 0
    for rows, share in mistakes:
        assert marks([[text for text, _ in row] for row in rows]) == points * share
    values[name] = own


def all_parts():
    """Of every variant its parts, by id: points, title and answer."""
    variants = {}
    for path in files("exam", "key/*.json"):
        key = json.loads(path.read_text())
        parts = {}
        for at, question in enumerate(key["questions"], 1):
            for letter, part in zip("abcdefghijklmnopqrstuvwxyz", question["parts"]):
                parts[f"{at}{letter}"] = (part["points"], part["answer"])
        variants[path.stem] = (key["variant"], parts)
    return variants


def tables():
    keyed = {(number, at): answer for number, parts in all_parts().values() for at, (_, answer) in parts.items()}
    (path,) = files("csv", "key/*.csv")
    rows = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault((int(row["variant"]), row["part"]), []).append(row)
    assert list(rows) == list(keyed)
    n = 0
    for at, answer in keyed.items():
        of_part = rows[at]
        assert all(None not in row and row["prompt"].strip() and row["title"] for row in of_part), at
        if isinstance(answer, dict) and "choice" in answer:
            right = "ABCDEFGHIJ"[answer["choice"].index(0)]
            assert of_part[0]["answer"] == right and f"({right})" in of_part[0]["options"], at
        if not isinstance(answer, dict) or "numbers" not in answer or answer["numbers"]["choices"]:
            continue
        if of_part[0]["type"] == "shape":
            continue
        key = [text for row in answer["numbers"]["key"]["rows"] for text in row]
        assert len(key) == len(of_part), at
        for text, row in zip(key, of_part):
            tolerance = Fraction(row["tolerance"] or 0)
            assert abs(Fraction(row["answer"]) - Fraction(text)) <= tolerance, (at, text, row)
            n += 1
    print("csv:", n, "numbers of tables")


def sheets():
    n = 0
    for path in files("exam", "*/*.typ"):
        pdf = typst.compile(str(path), pdf_standards=["ua-1"])
        assert pdf.startswith(b"%PDF") and b"/MarkInfo" in pdf or b"/StructTreeRoot" in pdf, path
        n += 1
    print("typst:", n, "accessible PDFs")


for check in (moodle, qti12, qti21, prairielearn, notebooks, tables, sheets):
    check()
