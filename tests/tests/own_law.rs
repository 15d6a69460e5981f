//! `docs/your-own-law.md` and `docs/your-own-question.md` are run as they stand: their files are
//! written, their commands called, and what they print and their exit codes compared with what the
//! pages show.

#![expect(clippy::disallowed_methods, reason = "writes the files of the page")]

use std::fs;
use std::path::Path;

use qkvet_tests::{has_python, root, run};

#[test]
fn the_page_prints_what_it_says() {
    if !has_python() {
        return;
    }
    let page = fs::read_to_string(root().join("docs/your-own-law.md")).expect("the page");
    let blocks = blocks(&page);
    let commands: usize = blocks.iter().map(|block| block.commands().len()).sum();
    assert!(commands >= 10, "only {commands} commands");
    let folder = tempfile::tempdir().expect("a folder");
    let wrong: Vec<String> =
        blocks.iter().filter_map(|block| block.run(folder.path()).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_page_on_questions_prints_what_it_says() {
    let page = fs::read_to_string(root().join("docs/your-own-question.md")).expect("the page");
    let blocks = blocks(&page);
    let commands: usize = blocks.iter().map(|block| block.commands().len()).sum();
    assert!(commands >= 8, "only {commands} commands");
    let folder = tempfile::tempdir().expect("a folder");
    let wrong: Vec<String> =
        blocks.iter().filter_map(|block| block.run(folder.path()).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn another_output_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |body: &str| Block { language: "console", body }.run(folder.path());
    assert_eq!(
        run(
            "$ qkvet prove score-entry --steps\nlaw score-entry\n...\nproved for all shapes by rewr...\n\n"
        ),
        Ok(())
    );
    assert_eq!(
        run("$ qkvet prove no-such-law\nerror: law `no-such-law`: ...\n...\n$ echo $?\n2\n"),
        Ok(())
    );
    for bad in [
        "$ qkvet prove score-entry --steps\nlaw score-exit\n...\n",
        "$ qkvet prove score-entry --steps\nlaw score-entry\n",
        "$ qkvet prove no-such-law\n...\n",
        "$ qkvet prove no-such-law\n...\n$ echo $?\n1\n",
    ] {
        assert!(run(bad).is_err(), "{bad}");
    }
}

#[test]
fn specifications_of_a_folder_join_or_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let law = |id: &str| {
        format!(
            "law: {id}\ntitle: Mine\nexpect: attention(Q, K, V) == attention(Q, K, V)\noptions: []\nproof: rewrite\ncatches: []\n"
        )
    };
    let qkvet = |args: &[&str]| run(folder.path(), args);
    write("qkvet.yaml", "specs: mine\n");
    write("mine/laws/family/twice.yaml", &law("twice"));
    qkvet(&["list", "laws"]).expect(0, &["twice", "score-entry"]);
    qkvet(&["prove", "twice"]).expect(0, &["proved"]);
    qkvet(&["prove", "twice", "--format", "markdown"])
        .expect(0, &["### twice", "Laws of your own."]);
    // A file that is in the folder is called by its id.
    let twice = qkvet(&["prove", "--file", "mine/laws/family/twice.yaml"]);
    twice.expect(2, &["expected an id of its own, got `twice`", "is called by its id"]);
    // A built-in target, sharded and joined.
    let checked = qkvet(&[
        "check",
        "builtin:standard",
        "--suite",
        "smoke",
        "--law",
        "twice",
        "--shard",
        "1/1",
    ]);
    checked.expect(0, &["laws      1 of 1 checked"]);
    let merged = qkvet(&["merge", ".qkvet/shards"]).expect(0, &[]).stdout.clone();
    assert_eq!(merged, checked.stdout);

    write("mine/laws/score-entry.yaml", &law("score-entry"));
    qkvet(&["list", "laws"])
        .expect(2, &["mine/laws/score-entry.yaml", "got `score-entry`, which is taken", "hint: "]);
    write("mine/laws/score-entry.yaml", "law: ill\n");
    qkvet(&["explain", "value"]).expect(2, &["mine/laws/score-entry.yaml", "title"]);
    fs::remove_file(folder.path().join("mine/laws/score-entry.yaml")).expect("a file");
    write("mine/faults/mine.yaml", "fault: mine\n");
    qkvet(&["prove", "value"])
        .expect(2, &["expected the folders `laws` and `conventions`, got `faults`"]);
    write("qkvet.yaml", "specs: nowhere\n");
    qkvet(&["check", "builtin:standard"])
        .expect(2, &["specs at nowhere: expected a readable folder"]);
}

/// What stands between fences.
struct Block<'a> {
    language: &'a str,
    body: &'a str,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    fenced
        .filter_map(|block| block.split_once('\n'))
        .map(|(language, body)| Block { language, body })
        .collect()
}

impl Block<'_> {
    /// Lines after `$ `, each with what is shown below it.
    fn commands(&self) -> Vec<(&str, Vec<&str>)> {
        let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in self.body.lines().filter(|_| self.language == "console") {
            match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => found.push((command, Vec::new())),
                (None, Some((_, shown))) => shown.push(line),
                (None, None) => {}
            }
        }
        found
    }

    /// Writes the file whose name stands in the first line, or runs the commands.
    fn run(&self, folder: &Path) -> Result<(), String> {
        if let Some(name) = self.body.lines().next().and_then(|line| line.strip_prefix("# ")) {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, self.body).expect("a file");
        }
        let commands = self.commands();
        for (at, (command, shown)) in commands.iter().enumerate() {
            let Some(args) = command.strip_prefix("qkvet ") else { continue };
            let finished = run(folder, &args.split_whitespace().collect::<Vec<_>>());
            let got = format!("{}\n{}", finished.stdout.trim_end(), finished.stderr);
            let code = match commands.get(at + 1) {
                Some(("echo $?", shown)) => shown.first().copied().unwrap_or_default().to_owned(),
                _ => "0".to_owned(),
            };
            if finished.code.map(|code| code.to_string()) != Some(code.clone()) {
                return Err(format!(
                    "$ {command}\nexpected exit code {code}, got {:?}\n{got}",
                    finished.code
                ));
            }
            if let Err(line) = compare(shown, &got) {
                return Err(format!("$ {command}\nexpected the line\n{line}\ngot\n{got}"));
            }
        }
        Ok(())
    }
}

/// `...` stands for any lines, at the end of a line for its rest. The first line that is not there,
/// if one is not.
fn compare<'a>(shown: &[&'a str], got: &str) -> Result<(), &'a str> {
    let mut lines = got.trim().lines().map(str::trim_end);
    let mut is_open = false;
    let shown: Vec<&str> = shown.iter().map(|line| line.trim_end()).collect();
    let end = shown.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    for line in shown[..end].iter().copied() {
        if line == "..." {
            is_open = true;
            continue;
        }
        let fits = |got: &str| {
            line.strip_suffix("...").map_or(got == line, |start| got.starts_with(start))
        };
        let found = if is_open { lines.any(fits) } else { lines.next().is_some_and(fits) };
        if !found {
            return Err(line);
        }
        is_open = false;
    }
    if is_open || lines.next().is_none() { Ok(()) } else { Err("(nothing more)") }
}
