//! What sheets, templates and keys say, and how they are laid out.

use qkvet_exam::build::{Request, build};
use qkvet_exam::key::{Key, Source};
use qkvet_exam::verify::differing;

use crate::catalog;

/// The files of one variant of a question by path.
fn files(question: &str) -> Vec<(String, String)> {
    of_questions(&[question])
}

fn of_questions(questions: &[&str]) -> Vec<(String, String)> {
    let entry = |question: &&str| format!("  - question: {question}\n");
    let text = format!(
        "exam: x\ntitle: X\nquestions:\n{}",
        questions.iter().map(entry).collect::<String>()
    );
    let set = Source { path: "set.yaml".to_owned(), text };
    let files = build(&Request { set, own: Vec::new(), variants: 1, seed: 11 }, catalog());
    files
        .unwrap_or_else(|error| panic!("{error}"))
        .into_iter()
        .map(|file| (file.path, file.text))
        .collect()
}

fn of<'a>(files: &'a [(String, String)], folder: &str, end: &str) -> &'a str {
    let is_it = |path: &str| path.starts_with(folder) && path.ends_with(end);
    files
        .iter()
        .find(|(path, _)| is_it(path))
        .map_or_else(|| panic!("no {folder}*{end}"), |(_, text)| text)
}

#[test]
fn room_for_an_answer_is_made_of_lines_that_render() {
    let files = files("tiny-head");
    let sheet = of(&files, "student/", ".md");
    let lines: Vec<&str> = sheet.lines().collect();
    assert!(lines.iter().all(|line| line.trim() != "\\"), "{sheet}");
    assert!(sheet.matches("&nbsp;").count() > 20, "{sheet}");
    // A break stands between two lines of a paragraph, never at its end.
    for pair in lines.windows(2) {
        assert!(!pair[0].ends_with('\\') || !pair[1].is_empty(), "{pair:?}");
    }
    assert!(!lines.last().is_some_and(|line| line.ends_with('\\')));
}

#[test]
fn a_part_and_the_room_for_its_answer_are_on_one_page() {
    let files = files("tiny-head");
    let (sheet, key) = (of(&files, "student/", ".typ"), of(&files, "key/", ".typ"));
    let blocks: Vec<&str> = sheet.split("\n\n").map(str::trim).collect();
    let first = blocks
        .iter()
        .position(|block| block.starts_with("#heading(level: 2"))
        .unwrap_or(blocks.len());
    let is_room = |block: &str| block.starts_with("#room(") || block.contains("#line-to-fill");
    let sticks = |block: &str| {
        block.starts_with("#kept[")
            || block.starts_with("#heading(")
            || block.contains("sticky: true")
    };
    let loose: Vec<&&str> = blocks[first..]
        .iter()
        .filter(|block| !block.is_empty() && !is_room(block) && !sticks(block))
        .collect();
    assert!(
        blocks.iter().filter(|block| is_room(block)).count() >= 5 && loose.is_empty(),
        "{loose:?}"
    );
    assert!(!key.contains("\n#kept["), "a key has no room to be kept with");
    let (sheet, key) = (of(&files, "student/", ".html"), of(&files, "key/", ".html"));
    assert_eq!(sheet.matches("<div class=\"kept\">").count(), 5, "one for each part");
    assert_eq!(sheet.matches("<div").count(), sheet.matches("</div>").count());
    assert!(!key.contains("class=\"kept\""));
    let sheet = of(&files, "student/", ".tex");
    assert_eq!(sheet.matches("\n\\keep{").count(), 6, "the question and its parts");
}

/// Typst sets what lies between pages that are broken so side by side.
#[test]
fn long_documents_go_on_with_a_new_page_after_each_tenth_question() {
    for (n, breaks) in [(10, 0), (11, 1), (21, 2)] {
        let files = of_questions(&vec!["which-products"; n]);
        for folder in ["student/", "key/"] {
            assert_eq!(
                of(&files, folder, ".typ").matches("#pagebreak").count(),
                breaks,
                "{n} in {folder}"
            );
        }
    }
}

/// Sheets come loose: each page says whose it is.
#[test]
fn pages_say_their_variant_and_how_many_they_are() {
    let files = files("tiny-head");
    for (folder, says) in [("student/", "X · variant 1"), ("key/", "X: key · variant 1")] {
        let typst = of(&files, folder, ".typ");
        assert!(
            typst.contains(&format!("#let sheet = \"{says}\""))
                && typst.contains("display(\"1 of 1\""),
            "{typst}"
        );
        let latex = of(&files, folder, ".tex");
        let says = says.replace('·', "$\\cdot$");
        assert!(latex.contains(&format!("\\newcommand{{\\sheet}}{{{says}}}")), "{latex}");
        assert!(latex.ends_with("\\label{last-page}\n\\end{document}\n"), "{latex}");
    }
}

/// What is said of a drawing stands where one is drawn.
#[test]
fn maps_that_are_not_drawn_are_numbers_alone() {
    let files = files("attention-map");
    for folder in ["student/", "key/"] {
        for (form, is_drawn) in [(".md", true), (".html", true), (".tex", false), (".typ", false)] {
            let text = of(&files, folder, form);
            assert_eq!(
                (text.contains("<svg"), text.contains("arker is larger")),
                (is_drawn, is_drawn),
                "{folder}{form}"
            );
        }
    }
}

#[test]
fn fractions_of_a_matrix_have_room_and_brackets_are_no_labels() {
    let of_tiny = files("tiny-head");
    let (sheet, key) = (of(&of_tiny, "student/", ".tex"), of(&of_tiny, "key/", ".tex"));
    assert!(key.matches("\\[\n\\tall\n").count() >= 3, "{key}");
    assert!(!sheet.contains("\n\\tall\n"), "{sheet}");
    let own = "question: own\ntitle: Own\ngoal: g\ndifficulty: 1\nprompt: |\n  Both:\n\n  - [a] first\n  - second\nparts:\n  - prompt: Add.\n    points: 1\n    answer: {value: {of: 1 + 1}}\n";
    let set = Source {
        path: "set.yaml".to_owned(),
        text: "exam: x\ntitle: X\nquestions: [{question: own}]\n".to_owned(),
    };
    let own = vec![Source { path: "questions/own.yaml".to_owned(), text: own.to_owned() }];
    let files = build(&Request { set, own, variants: 1, seed: 1 }, catalog())
        .unwrap_or_else(|error| panic!("{error}"));
    let sheet =
        files.iter().find(|file| file.path == "student/x-1.tex").map_or("", |file| &file.text);
    assert!(sheet.contains("\\item {}[a] first\n\\item second\n"), "{sheet}");
}

#[test]
fn sheets_say_how_numbers_are_written() {
    let files = files("tiny-head");
    for form in [".md", ".html", ".tex", ".typ"] {
        let sheet = of(&files, "student/", form);
        assert!(
            sheet.contains("without units")
                && sheet.contains("An exact result earns full marks too."),
            "{form}"
        );
        assert!(!sheet.contains("exactly and in decimals"), "{form}");
    }
    let template = of(&files, "student/", ".answers.yaml");
    assert!(
        template.contains("without units") && template.contains("numbers to 4 decimals, or exact"),
        "{template}"
    );
}

#[test]
fn a_file_that_is_missing_is_said_to_be() {
    let files = files("tiny-head");
    let key = Key::from_json(of(&files, "key/", ".json")).unwrap_or_else(|error| panic!("{error}"));
    let read = |path: &str| {
        let text = files.iter().find(|(own, _)| own == path).map(|(_, text)| text.clone())?;
        match path {
            "key/x-1.md" => None,
            "key/x-1.html" => Some(b"other".to_vec()),
            _ => Some(text.into_bytes()),
        }
    };
    let wrong = differing(&key, &read, catalog());
    let mut wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    wrong.sort();
    let says = "expected what its seed gives, got";
    assert_eq!(
        wrong,
        [
            format!("key/x-1.html: {says} other bytes"),
            format!("key/x-1.md: {says} no file: it is missing")
        ]
    );
}

/// What the derivation alone leaves out stands behind it, in the letters of the question.
#[test]
fn proofs_say_what_their_derivations_leave_out() {
    for (question, says) in [
        ("token-attention", ["the weighted sum of the values", "stands for"]),
        ("tiny-head", ["adds up each row of the weights", "So the weights of the row sum to"]),
        ("rank-of-scores", ["Matrix products are associative", "scores of the basis vectors"]),
        ("convex-hull", ["queries and $n_{k}$ keys", "the index attended"]),
        ("outer-products", ["$\\frac{t}{t + 2}$ with $t = e^{\\beta^{2}}$", "so the weight is"]),
        ("dot-product-moments", ["counts the entries from 0", "does not depend on"]),
        ("softmax-saturation", ["adds up each row", "which the statement writes as"]),
    ] {
        let files = files(question);
        let key = of(&files, "key/", ".md").replace('\n', " ");
        for says in says {
            assert!(key.contains(says), "{question}: no `{says}`");
        }
    }
}
