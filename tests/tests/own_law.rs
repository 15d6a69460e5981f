//! `docs/your-own-law.md` and `docs/your-own-question.md` are run as they stand: their files are
//! written, their commands called, and what they print and their exit codes compared with what the
//! pages show.

use std::path::Path;

use qkvet_tests::{Folder, has_python, root, temp};

/// Runs a page with at least so many commands.
fn page_is_what_it_prints(page: &str, least: usize) {
    let page = root().read(page);
    let blocks = blocks(&page);
    let commands: usize = blocks.iter().map(|block| block.commands().len()).sum();
    assert!(commands >= least, "only {commands} commands");
    let folder = temp();
    let wrong: Vec<String> =
        blocks.iter().filter_map(|block| block.run(folder.path()).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_page_prints_what_it_says() {
    if has_python() {
        page_is_what_it_prints("docs/your-own-law.md", 10);
    }
}

#[test]
fn the_page_on_questions_prints_what_it_says() {
    page_is_what_it_prints("docs/your-own-question.md", 8);
}

#[test]
fn another_output_is_noticed() {
    let folder = temp();
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
    let folder = temp();
    let law = |id: &str| {
        format!(
            "law: {id}\ntitle: Mine\nexpect: attention(Q, K, V) == attention(Q, K, V)\noptions: []\nproof: rewrite\ncatches: []\n"
        )
    };
    folder.write("qkvet.yaml", "specs: mine\n");
    folder.write("mine/laws/family/twice.yaml", law("twice"));
    folder.run("list laws").expect(0, &["twice", "score-entry"]);
    assert_eq!(folder.run("prove twice --format json").report(0)["laws"][0]["status"], "proved");
    folder.run("prove twice --format markdown").expect(0, &["### twice"]);
    // A file that is in the folder is called by its id.
    folder.run("prove --file mine/laws/family/twice.yaml").expect(2, &["`twice`"]);
    // A built-in target, sharded and joined.
    let checked = folder.run("check builtin:standard --suite smoke --law twice --shard 1/1 -v");
    checked.expect(0, &[" 1 of 1 "]);
    assert_eq!(folder.run("merge .qkvet/shards -v").ends(0).stdout, checked.stdout);

    let taken = "mine/laws/score-entry.yaml";
    folder.write(taken, law("score-entry"));
    folder.run("list laws").expect(2, &[taken, "`score-entry`", "hint: "]);
    folder.write(taken, "law: ill\n");
    folder.run("explain value").expect(2, &[taken, "title"]);
    std::fs::remove_file(folder.path().join(taken)).expect("a file");
    folder.write("mine/faults/mine.yaml", "fault: mine\n");
    folder.run("prove value").expect(2, &["`laws` and `conventions`", "`faults`"]);
    folder.write("qkvet.yaml", "specs: nowhere\n");
    folder.run("check builtin:standard").expect(2, &["nowhere"]);
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
            folder.write(name, self.body);
        }
        let commands = self.commands();
        for (at, (command, shown)) in commands.iter().enumerate() {
            let Some(args) = command.strip_prefix("qkvet ") else { continue };
            let finished = folder.run(args);
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
