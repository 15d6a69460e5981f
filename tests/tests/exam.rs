//! `qkvet exam`: a problem set becomes sheets and keys, the same bytes each time, and nothing that
//! is changed in a key goes unnoticed.

#![expect(clippy::disallowed_methods, reason = "reads and changes the files of an exam")]

use std::fs;
use std::path::Path;

use qkvet_spec::{Catalog, parse_yaml};
use qkvet_tests::{Finished, PROBLEM_SETS, root, run};

fn build(set: &str, out: &Path, seed: &str) -> Finished {
    let out = out.display().to_string();
    run(root(), &["exam", "build", set, "--variants", "2", "--seed", seed, "--out", &out])
}

fn verify(out: &Path) -> Finished {
    run(root(), &["exam", "verify", &out.display().to_string()])
}

/// Name and bytes of every file, in order.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for part in ["key", "student"] {
        for entry in fs::read_dir(folder.join(part)).expect("a folder of the exam") {
            let path = entry.expect("an entry").path();
            let name = format!("{part}/{}", path.file_name().unwrap_or_default().to_string_lossy());
            all.push((name, fs::read(&path).expect("a file of the exam")));
        }
    }
    all.sort();
    all
}

#[test]
fn every_set_builds_the_same_bytes_twice_and_verifies() {
    for set in PROBLEM_SETS {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        build(set, &one, "2026").expect(0, &["2 variants"]);
        build(&format!("specs/exams/{set}.yaml"), &two, "2026").expect(0, &[]);
        assert_eq!(files(&one), files(&two), "{set}");
        verify(&one).expect(0, &["2 keys", "; 0 wrong"]);
        let other = folder.path().join("other");
        build(set, &other, "2027").expect(0, &[]);
        assert_ne!(files(&one), files(&other), "{set}");
    }
}

#[test]
fn sheets_hold_neither_answers_nor_the_seed_and_keys_are_private() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    build("tiny-head", &out, "987654321").expect(0, &[]);
    let key: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("key/tiny-head-1.json")).expect("a key"))
            .expect("JSON");
    let mut answers: Vec<String> = Vec::new();
    for part in key["questions"][0]["parts"].as_array().expect("parts") {
        let rows = part["answer"]["numbers"]["key"]["rows"].as_array().into_iter().flatten();
        let cells = rows.flat_map(|row| row.as_array().into_iter().flatten());
        answers.extend(
            cells.filter_map(|cell| cell.as_str()).filter(|cell| cell.len() > 5).map(str::to_owned),
        );
    }
    answers.retain(|answer| !answer.ends_with("0000"));
    assert!(answers.len() >= 4, "{answers:?}");
    for (name, bytes) in files(&out) {
        let text = String::from_utf8(bytes).expect("text");
        if name.starts_with("student/tiny-head-1") {
            let secrets =
                ["987654321", "Mistakes", "Steps", "Marked"].into_iter().map(str::to_owned);
            for secret in secrets.chain(answers.clone()) {
                assert!(!text.contains(&secret), "{name} contains {secret}");
            }
        } else if name == "key/tiny-head-1.md" {
            assert!(
                answers.iter().all(|answer| text.contains(answer.trim_start_matches('-'))),
                "{name}"
            );
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(out.join(&name)).expect("a file").permissions().mode() & 0o777;
            assert!(!name.starts_with("key/") || mode == 0o600, "{name}: {mode:o}");
        }
    }
    // What is there is never written over.
    build("tiny-head", &out, "1")
        .expect(2, &["expected a new or an empty one", "hint: a build that was stopped leaves"]);
}

/// Every number of every key, one after the other, is changed a little: a verification that trusts
/// the file would pass.
#[test]
fn corrupted_keys_are_caught_by_the_other_route() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    build("tiny-head", &out, "5").expect(0, &[]);
    let path = out.join("key/tiny-head-1.json");
    let text = fs::read_to_string(&path).expect("a key");
    // The last digit of every decimal that an answer is printed with.
    let places: Vec<usize> = text
        .match_indices(|c: char| c.is_ascii_digit())
        .map(|(at, _)| at)
        .filter(|at| {
            text[at + 1..].starts_with('"') && text[..*at].ends_with(|c: char| c.is_ascii_digit())
        })
        .filter(|at| text[..*at].rfind('"').is_some_and(|quote| text[quote..*at].contains('.')))
        .collect();
    assert!(places.len() >= 40, "{} decimals", places.len());
    let (mut tried, mut derived) = (0, 0);
    for at in places.iter().step_by(12) {
        let digit = text.as_bytes()[*at];
        let other = if digit == b'9' { b'8' } else { digit + 1 };
        let mut bytes = text.clone().into_bytes();
        bytes[*at] = other;
        fs::write(&path, bytes).expect("the key is written");
        let found = verify(&out);
        found.expect(1, &["wrong  ", "tiny-head-1.json"]);
        tried += 1;
        derived += usize::from(found.stdout.contains("wrong  tiny-head-1.json: question"));
    }
    // Exact forms of what a mistake gives in decimals are only compared with what the seed gives.
    assert!(derived * 4 >= tried * 3, "{derived} of {tried}");
    fs::write(&path, &text).expect("the key is written");
    verify(&out).expect(0, &["; 0 wrong"]);
    // A sheet that is changed is noticed as well.
    let sheet = out.join("student/tiny-head-2.md");
    let changed = fs::read_to_string(&sheet).expect("a sheet") + "\n";
    fs::write(&sheet, changed).expect("the sheet is written");
    verify(&out).expect(1, &["student/tiny-head-2.md: expected what its seed gives"]);
}

#[test]
fn a_question_of_ones_own_is_a_file_and_its_errors_point_at_the_line() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("questions")).expect("a folder");
    let set = folder.path().join("mine.yaml");
    fs::write(&set, "exam: mine\ntitle: My set\nquestions:\n  - question: sums\n").expect("a set");
    let question = |formula: &str| {
        let text = format!(
            "question: sums\ntitle: Scores\ngoal: multiply\ndifficulty: 1\nsizes: {{n: 2, d: 2}}\ndraw:\n  A: integers(n, d, 1..9)\n  B: integers(n, d, 1..9)\nprompt: $$A; B$$\nparts:\n  - prompt: Multiply.\n    points: 1\n    answer: {{value: {{of: {formula}}}}}\n    mistakes:\n      - {{gives: B @ A.T, says: the order}}\n"
        );
        fs::write(folder.path().join("questions/sums.yaml"), text).expect("a question");
    };
    let build = |out: &str| {
        run(
            folder.path(),
            &["exam", "build", "mine.yaml", "--seed", "1", "--variants", "3", "--out", out],
        )
    };
    question("A @ B.T");
    build("good").expect(0, &["3 variants"]);
    verify(&folder.path().join("good")).expect(0, &["3 answers", "; 0 wrong"]);
    question("A @ C");
    build("bad").expect(2, &["questions/sums.yaml:13", "C"]);
    // A mistake that gives the key makes every variant ambiguous.
    question("B @ A.T");
    build("worse").expect(2, &["expected numbers with one clear answer", "gives the key"]);
    fs::write(&set, "exam: mine\ntitle: My set\nquestions:\n  - question: sum\n").expect("a set");
    build("unknown").expect(2, &["mine.yaml:4", "did you mean `sums`?"]);
}

#[test]
fn errors_in_a_question_point_at_their_line() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("questions")).expect("a folder");
    fs::write(
        folder.path().join("mine.yaml"),
        "exam: mine\ntitle: M\nquestions:\n  - question: own\n",
    )
    .expect("a set");
    let good = "question: own\ntitle: Own\ngoal: g\ndifficulty: 1\nsizes: {n: 2, d: 2}\ndraw:\n  A: integers(n, d, 1..9)\n  B: integers(n, d, 1..9)\nlet:\n  S: A @ B.T\nprompt: $$A; B$$\nparts:\n  - prompt: Multiply.\n    points: 1\n    answer: {value: {of: S}}\n    steps: [S]\n    mistakes:\n      - {gives: B @ A.T, says: the order}\n";
    let build = |from: &str, to: &str, out: &str| {
        assert!(good.contains(from), "{from}");
        fs::write(folder.path().join("questions/own.yaml"), good.replacen(from, to, 1))
            .expect("a question");
        run(
            folder.path(),
            &["exam", "build", "mine.yaml", "--seed", "9223372036854775807", "--out", out],
        )
    };
    for (from, to, told) in [
        ("of: S}}", "of: S}", ["own.yaml:16", "a bracket or a quote is open"]),
        ("steps: [S]", "steps: [S", ["own.yaml:17", "a bracket or a quote is open"]),
        (
            "    answer: {value: {of: S}}\n",
            "",
            ["missing field `answer`", "the entry that ends here has none"],
        ),
        ("points: 1", "points: two", ["own.yaml:14", "expected a whole number from 0, got `two`"]),
        ("steps: [S]", "steps: [T]", ["own.yaml:16", "expected steps of `let`, got `T`"]),
        (
            "question: own",
            "question: oown",
            ["own.yaml:1", "expected the name of the file, `own`, got `oown`"],
        ),
        ("of: S}}", "of: S, check: A @ A.T}}", ["own.yaml:15", "`of` and its check differ"]),
        ("of: S}}", "of: exp(1) * S}}", ["own.yaml:15", "ask for decimals"]),
        (
            "B @ A.T",
            "A @ B.T",
            ["the mistake in line 18 of question `own`", "gives the key in every draw"],
        ),
        // What leaves no numbers is a mistake, a condition, the load, or what is drawn.
        (
            "B @ A.T",
            "A @ B.T",
            ["questions/own.yaml:18", "got none in 2000 draws; last: mistake `the order` gives"],
        ),
        (
            "prompt: $$A; B$$",
            "keep:\n  - 1 <= norm_max(S)\n  - norm_max(S) <= 1\nprompt: $$A; B$$",
            ["own.yaml:13", "<= 1` does not hold"],
        ),
        ("prompt: $$A; B$$", "load: 900..901\nprompt: $$A; B$$", ["own.yaml:11", "a load of"]),
        // The second paragraph of a block, in its own line.
        (
            "prompt: $$A; B$$",
            "prompt: |\n  One $A$.\n\n  - two $=A$\n  - three\n    $=A @ C$",
            ["own.yaml:16:7", "name `C`"],
        ),
        (
            "prompt: $$A; B$$",
            "prompt: |\n  One $A$.\n\n  Two $A$ and $A @$.",
            ["own.yaml:14:19", "expected"],
        ),
        (
            "{value: {of: S}}\n    steps: [S]",
            "{shape: (1, n)}",
            ["own.yaml:15", "a comma in it needs quotes, as in `{shape: \"(1, n)\"}`"],
        ),
        ("points: 1", "points: 4000000000", ["own.yaml:14", "expected 1 to 1000, got 4000000000"]),
        ("points: 1", "points: 0", ["own.yaml:14", "expected 1 to 1000, got 0"]),
        ("S: A @ B.T", "S: softmax(A) @ B.T", ["own.yaml:10", "did you mean `softmax_rows`?"]),
        // Conditions that throw some draws away do not hide a mistake that gives the key in all
        // others.
        (
            "B @ A.T, says: the order}\n",
            "A @ B.T, says: the order}\nkeep:\n  - 60 <= norm_max(S)\n",
            ["the mistake in line 18 of question `own`", "or let what it leaves out be drawn"],
        ),
        (
            "n: 2, d: 2",
            "n: 3000, d: 2000",
            ["own.yaml:7", "expected at most 64 rows and columns, got 3000 × 2000"],
        ),
        (
            "S: A @ B.T",
            "S: A @ B.T * (1 + 0 * norm_max(ones(70, 70)))",
            ["own.yaml:10:", "expected at most 4096 entries, got 70 × 70"],
        ),
    ] {
        let told_by = build(from, to, "never");
        told_by.expect(2, &told);
    }
    let part = "  - prompt: Multiply.\n    points: 1\n    answer: {value: {of: S}}\n";
    build("parts:\n", &format!("parts:\n{}", part.repeat(26)), "never")
        .expect(2, &["own.yaml:91", "expected 26 parts at most, got 27"]);
    // An example of a design that does not meet its own bound, and a formula that is not its own
    // answer.
    let with = |answer: &str| {
        let text = good.split("    answer:").next().expect("a start").to_owned()
            + "    answer: "
            + answer
            + "\n";
        fs::write(folder.path().join("questions/own.yaml"), text).expect("a question");
        run(
            folder.path(),
            &["exam", "build", "mine.yaml", "--seed", "9223372036854775807", "--out", "never"],
        )
    };
    with("{design: {example: [S], distance: norm_max(S), at_most: 0.5, rubric: [all]}}").expect(
        2,
        &[
            "own.yaml:15:23",
            "expected an `example` whose `distance` is at most `at_most`, 0.500000, got ",
        ],
    );
    with("{expression: {is: A @ B.T, equals: B @ A.T}}")
        .expect(2, &["own.yaml:15:5", "expected `is` equal to `equals` for the numbers drawn"]);
    let built = build("Multiply.", "Multiply $QQ @ KK.T$ by $alpha$ and $k_1$.", "out");
    built.expect(0, &[]);
    let notes: Vec<&str> = built.stderr.lines().collect();
    assert!(
        notes.len() == 2 && notes[0].starts_with("note: questions/own.yaml:13: `QQ`"),
        "{notes:?}"
    );
}

/// Who makes the folders goes on, and no other takes them away.
#[test]
fn of_two_builds_into_one_folder_at_once_one_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..8 {
        let out = folder.path().join(format!("both-{round}"));
        let done = std::thread::scope(|scope| {
            let both =
                [0, 1].map(|_| scope.spawn(|| build("tiny-head", &out, "5577006791947779410")));
            both.map(|one| one.join().expect("a build"))
        });
        let mut codes = done.each_ref().map(|one| one.code);
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(2)], "{}{}", done[0].stderr, done[1].stderr);
        let lost = done.iter().find(|one| one.code == Some(2)).expect("one that lost");
        assert!(lost.stderr.contains("folder at "), "{}", lost.stderr);
        assert_eq!(files(&out).len(), 20);
    }
}

#[test]
fn a_folder_does_not_hide_the_set_of_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let build = |set: &str, out: &str| {
        run(folder.path(), &["exam", "build", set, "--seed", "9223372036854775807", "--out", out])
    };
    build("tiny-head", "tiny-head").expect(0, &["1 variant"]);
    build("tiny-head", "other").expect(0, &["1 variant"]);
    build("other", "third").expect(2, &["expected a file or the id of a set, got a folder"]);
}

#[test]
fn what_is_built_in_is_listed() {
    run(root(), &["exam", "list"])
        .expect(0, &[&PROBLEM_SETS[..], &["Problem sets", "Questions", "hand-head"]].concat());
    run(root(), &["exam", "build", "tiny", "--seed", "1", "--out", "never"]).expect(2, &["known:"]);
}

#[test]
fn what_is_built_in_fits_the_schemas_and_what_is_broken_does_not() {
    let validator = |name: &str| {
        let schema =
            serde_json::from_str(&run(root(), &["schema", name]).stdout).expect("a schema");
        jsonschema::validator_for(&schema).expect("a valid schema")
    };
    let (question, exam) = (validator("question"), validator("exam"));
    let mut checked = 0;
    for (path, text) in Catalog::texts("exams") {
        let value: serde_json::Value = parse_yaml(&path, text).expect("YAML");
        let validator = if path.contains("/questions/") { &question } else { &exam };
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{path}: {errors:?}");
        checked += 1;
    }
    assert!(checked >= 20, "{checked} files");
    let (_, text) = Catalog::texts("exams")
        .into_iter()
        .find(|(path, _)| path.ends_with("/tiny-head.yaml") && path.contains("/questions/"))
        .expect("a question");
    // A field that there is not, a number for a word, an answer of no kind, a part without points
    // or with too many.
    for (from, to) in [
        ("title:", "titel:"),
        ("difficulty: 2", "difficulty: two"),
        ("value: {of: S", "valu: {of: S"),
        ("points: 2", "worth: 2"),
        ("points: 2", "points: 0"),
        ("points: 2", "points: 1001"),
    ] {
        assert!(text.contains(from), "{from}");
        let value: serde_json::Value =
            parse_yaml("broken", &text.replacen(from, to, 1)).expect("YAML");
        assert!(!question.is_valid(&value), "{to}");
    }
    for text in [
        "exam: a\ntitle: A\n",
        "exam: a\ntitle: A\nquestions:\n  - part: [1]\n",
        "exam: a\ntitle: A\nquestions: tiny-head\n",
    ] {
        let value: serde_json::Value = parse_yaml("broken", text).expect("YAML");
        assert!(!exam.is_valid(&value), "{text}");
    }
}

#[test]
fn a_pdf_is_made_or_said_to_need_another_build() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let path = out.display().to_string();
    let built =
        run(root(), &["exam", "build", "tiny-head", "--seed", "1", "--out", &path, "--pdf"]);
    if built.code == Some(0) {
        for name in ["student/tiny-head-1.pdf", "key/tiny-head-1.pdf"] {
            assert!(fs::read(out.join(name)).expect("a PDF").starts_with(b"%PDF-1.7"), "{name}");
        }
    } else {
        built.expect(
            2,
            &["feature `pdf`", "hint:", "--features pdf", "typst compile --pdf-standard ua-1"],
        );
        assert!(!out.exists());
    }
}

#[test]
fn surplus_files_are_noticed_and_keys_that_others_read_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    build("tiny-head", &out, "5").expect(0, &[]);
    let key = out.join("key/tiny-head-1.json");
    let with = |to: &str, bytes: &[u8], code: i32, told: &str| {
        let path = out.join(to);
        fs::write(&path, bytes).expect("a file");
        verify(&out).expect(code, &[told]);
        fs::remove_file(&path).expect("a file");
    };
    let text = fs::read(&key).expect("a key");
    with(
        "student/tiny-head-1.json",
        &text,
        1,
        "wrong  student/tiny-head-1.json: expected nothing but sheets",
    );
    with(
        "student/secret.txt",
        b"seed 5",
        1,
        "wrong  student/secret.txt: expected nothing but sheets",
    );
    with(
        "key/tiny-head-3.json",
        &text,
        1,
        "wrong  key/tiny-head-3.json: expected the keys of 2 variants",
    );
    with("key/tiny-head-01.json", &text, 1, "wrong  key/tiny-head-01.json");
    with(
        "key/tiny-head-9.md",
        &text,
        1,
        "wrong  key/tiny-head-9.md: expected the keys of 2 variants, got another one",
    );
    with("key/tiny-head-9.pdf", b"%PDF", 1, "wrong  key/tiny-head-9.pdf: expected the keys");
    with("key/tiny-head-moodle.xml", b"<quiz/>", 0, "; 0 wrong");
    with("key/notes.txt", b"mine", 0, "; 0 wrong");
    with("student/tiny-head-2.pdf", b"%PDF", 0, "; 0 wrong");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The same bytes, but somewhere else.
        let sheet = out.join("student/tiny-head-1.md");
        let elsewhere = folder.path().join("elsewhere.md");
        fs::rename(&sheet, &elsewhere).expect("a file");
        std::os::unix::fs::symlink(&elsewhere, &sheet).expect("a link");
        verify(&out).expect(
            1,
            &["wrong  student/tiny-head-1.md: expected a file of its own, got a link", "; 1 wrong"],
        );
        fs::remove_file(&sheet).expect("a link");
        fs::rename(&elsewhere, &sheet).expect("a file");
        let keys = folder.path().join("keys");
        fs::rename(out.join("key"), &keys).expect("a folder");
        std::os::unix::fs::symlink(&keys, out.join("key")).expect("a link");
        verify(&out).expect(1, &["wrong  key: expected", "got a link"]);
        fs::remove_file(out.join("key")).expect("a link");
        fs::rename(&keys, out.join("key")).expect("a folder");
        assert!(!verify(&out).stderr.contains("warning"));
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("a mode");
        let told = verify(&out);
        told.expect(0, &["; 0 wrong"]);
        assert!(
            told.stderr.contains("warning: key/tiny-head-1.json")
                && told.stderr.contains("mode 644"),
            "{}",
            told.stderr
        );
    }
}

#[test]
fn a_seed_that_can_be_guessed_is_told_and_none_is_a_new_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let short = build("tiny-head", &at("short"), "2026");
    assert!(
        short.stderr.contains("seed 2026 can be found by trying")
            && short.stderr.contains("--seed "),
        "{}",
        short.stderr
    );
    let long = build("tiny-head", &at("long"), "5577006791947779410");
    assert_eq!(long.stderr, "");
    let new = |name: &str| {
        let out = at(name).display().to_string();
        let built = run(root(), &["exam", "build", "tiny-head", "--out", &out]);
        built.expect(0, &["1 variant of seed "]);
        assert_eq!(built.stderr, "");
        let key = fs::read(at(name).join("key/tiny-head-1.json")).expect("a key");
        let seed = serde_json::from_slice::<serde_json::Value>(&key).expect("JSON")["seed"]
            .as_u64()
            .expect("a seed");
        assert!(
            seed >= 1 << 32 && built.stdout.contains(&seed.to_string()),
            "{seed}: {}",
            built.stdout
        );
        verify(&at(name)).expect(0, &["; 0 wrong"]);
        seed
    };
    assert_ne!(new("one"), new("two"));
    run(
        root(),
        &[
            "exam",
            "build",
            "tiny-head",
            "--variants",
            "100001",
            "--out",
            &at("never").display().to_string(),
        ],
    )
    .expect(2, &["1..=100000"]);
}

#[test]
fn an_exam_of_too_many_variants_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("questions")).expect("a folder");
    fs::write(
        folder.path().join("mine.yaml"),
        "exam: mine\ntitle: Mine\nquestions:\n  - question: small\n",
    )
    .expect("a set");
    let text = "question: small\ntitle: Small\ngoal: add\ndifficulty: 1\ndraw: {x: integer(1..3)}\nparts:\n  - prompt: Add 1 to $=x$.\n    points: 1\n    answer: {value: {of: x + 1}}\n";
    fs::write(folder.path().join("questions/small.yaml"), text).expect("a question");
    let build = |n: &str| {
        run(folder.path(), &["exam", "build", "mine.yaml", "--variants", n, "--out", "out"])
    };
    build("4").expect(2, &["(different variants: 3)"]);
    build("3").expect(0, &["3 variants"]);
}
