//! The README is short, its example finds what the picture and `docs/findings.md` show, and so do
//! the other pages that a first user meets.
#![expect(clippy::disallowed_methods, reason = "writes the pictures, when they are wanted")]

use anstyle::{Color, RgbColor};
use anstyle_svg::{Term, VGA, WIN10_CONSOLE};
use qkvet_report::{Detail, ReportStyle, render_in};
use qkvet_spec::Summary;
use qkvet_tests::{Folder, has_python, pictures, root, temp};

/// The width of the picture: lines of the README have as many characters.
const COLUMNS: usize = 100;
const MAX_LINES: usize = 120;
const MAX_WORDS: usize = 900;

#[test]
fn the_readme_is_short() {
    let page = root().read("README.md");
    let longest =
        page.lines().filter(|line| !line.starts_with('|')).map(|line| line.chars().count());
    assert!(longest.max() <= Some(COLUMNS), "a line has more than {COLUMNS} characters");
    assert!(page.lines().count() <= MAX_LINES, "more than {MAX_LINES} lines");
    assert!(page.split_whitespace().count() <= MAX_WORDS, "more than {MAX_WORDS} words");
}

#[test]
fn the_example_finds_what_is_shown() {
    if !has_python() {
        return;
    }
    let (readme, folder) = (root().read("README.md"), temp());
    let code = readme.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    folder.write("sliding_window.py", code.expect("an example"));
    let command = readme.lines().find_map(|line| line.strip_prefix("$ qkvet check sliding_window"));
    let check = format!("check sliding_window{} --report json=r.json", command.expect("a command"));
    let printed = folder.run(check).ends(1).stdout.clone();
    let page = root().read("docs/findings.md");
    let shown = page.split("```console\n").nth(1).and_then(|rest| rest.split("```").next());
    let (_, shown) = shown.expect("an output").split_once('\n').expect("a command");
    assert_eq!(printed.trim(), shown.trim(), "docs/findings.md shows another output");

    let summary: Summary = serde_json::from_str(&folder.read("r.json")).expect("a report");
    let style =
        ReportStyle { columns: Some(COLUMNS), detail: Detail::Short, ..ReportStyle::default() };
    let report = render_in(&summary, style);
    for (name, term) in themes() {
        let path = format!("docs/pictures/finding-{name}.svg");
        let picture = term.render_svg(&report);
        if pictures().is_some() {
            std::fs::write(root().join(&path), &picture).expect("a picture");
        }
        assert!(root().read(&path) == picture, "{path} is old: `cargo xtask pictures`");
    }
}

/// The colors of GitHub's pages, on which the README stands.
fn themes() -> [(&'static str, Term); 2] {
    let rgb = |r, g, b| Color::Rgb(RgbColor(r, g, b));
    let (ink, paper) = (rgb(0x1f, 0x23, 0x28), rgb(0xf6, 0xf8, 0xfa));
    let (chalk, slate) = (rgb(0xe6, 0xed, 0xf3), rgb(0x16, 0x1b, 0x22));
    [
        ("light", Term::new().palette(VGA).fg_color(ink).bg_color(paper)),
        ("dark", Term::new().palette(WIN10_CONSOLE).fg_color(chalk).bg_color(slate)),
    ]
}
