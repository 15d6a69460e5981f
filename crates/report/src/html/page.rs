//! The page as HTML: every text is escaped where it is put in.

use super::conventions::ConventionRow;
use super::example::{ExampleView, Table};
use super::finding::FindingView;
use crate::text::escaped;

const CSS: &str = include_str!("../../templates/report.css");
const JS: &str = include_str!("../../templates/report.js");

/// What the page shows.
pub(super) struct Page {
    pub(super) target: String,
    pub(super) tool: String,
    pub(super) outcome: String,
    pub(super) is_bad: bool,
    pub(super) facts: Vec<Fact>,
    pub(super) tiles: Vec<Tile>,
    pub(super) findings: Vec<FindingView>,
    /// Titles of findings that are only named.
    pub(super) named: Vec<String>,
    /// Findings that are not even named.
    pub(super) unnamed: usize,
    pub(super) conventions: Vec<ConventionRow>,
    pub(super) coverage: String,
    /// HTML.
    pub(super) margins: String,
    /// HTML.
    pub(super) shapes: String,
    pub(super) dtypes: Vec<String>,
    pub(super) laws: Vec<LawRow>,
    pub(super) warnings: Vec<String>,
    /// Findings that do not fail, with why.
    pub(super) settled: Vec<String>,
    /// Entries of known deviations that have to be changed.
    pub(super) stale: Vec<String>,
    pub(super) snapshot: Option<String>,
}

/// A name and what is said of it.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) text: String,
}

/// How many cases ended with a verdict.
pub(super) struct Tile {
    pub(super) word: &'static str,
    pub(super) count: String,
    pub(super) kind: &'static str,
}

/// A law with what came of its cases in each format.
pub(super) struct LawRow {
    pub(super) law: String,
    pub(super) cells: Vec<LawCell>,
}

pub(super) struct LawCell {
    pub(super) text: String,
    pub(super) kind: &'static str,
}

impl Page {
    /// The whole document.
    pub(super) fn render(&self) -> String {
        let target = escaped(&self.target);
        let csp = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                   base-uri 'none'; form-action 'none'";
        let (outcome, sign) = if self.is_bad { ("bad", "✗") } else { ("good", "✓") };
        let tile = |tile: &Tile| {
            let Tile { word, count, kind } = tile;
            format!("<li class=\"{kind}\"><b>{count}</b> {word}</li>\n")
        };
        let snapshot =
            if self.snapshot.is_some() { "<a href=\"#snapshot\">Snapshot</a> " } else { "" };
        format!(
            "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<meta http-equiv=\"Content-Security-Policy\" content=\"{csp}\">
<title>{target} – qkvet</title>
<style>
{CSS}
</style>
</head>
<body>
<a class=\"skip\" href=\"#findings\">To the findings</a>
<header>
<div class=\"line\">
<p class=\"tool\">{tool}</p>
<button type=\"button\" id=\"theme\" hidden>Dark</button>
</div>
<h1>{target}</h1>
<p class=\"outcome {outcome}\">{sign} {said}</p>
<ul class=\"tiles\">
{tiles}</ul>
<nav aria-label=\"Parts of this page\"><a href=\"#findings\">Findings</a> {snapshot}\
<a href=\"#margins\">Errors and bounds</a> <a href=\"#laws\">Laws</a> \
<a href=\"#conventions\">Conventions</a> <a href=\"#coverage\">Coverage</a> \
<a href=\"#environment\">Environment</a></nav>
</header>
<main>
{findings}{changes}{margins}{laws}{conventions}{coverage}{environment}</main>
<script>
{JS}
</script>
</body>
</html>",
            tool = escaped(&self.tool),
            said = escaped(&self.outcome),
            tiles = each(&self.tiles, tile),
            findings = self.findings(),
            changes = self.snapshot.as_deref().map_or_else(String::new, |text| {
                section("snapshot", "Snapshot", &preformatted(text))
            }),
            margins = self.margins(),
            laws = section("laws", "Laws", &self.laws()),
            conventions = section("conventions", "Conventions", &self.conventions()),
            coverage = section("coverage", "Coverage", &preformatted(&self.coverage)),
            environment = section("environment", "Environment", &self.environment()),
        )
    }

    fn findings(&self) -> String {
        let mut body = String::new();
        if !self.settled.is_empty() {
            body += &format!("<p>These do not fail:</p>{}", list(&self.settled));
        }
        if !self.stale.is_empty() {
            let stale = "<p>Known deviations that are stale, which fails:</p>";
            body += &format!("{stale}{}", list(&self.stale));
        }
        if self.findings.is_empty() {
            let changes = " What changed is told under <a href=\"#snapshot\">Snapshot</a>.";
            let changes = if self.snapshot.is_some() { changes } else { "" };
            body += &format!("<p>None.{changes}</p>\n");
            return section("findings", "Findings", &body);
        }
        body += "<div id=\"search\" hidden>
<label for=\"filter\">Filter</label>
<input id=\"filter\" type=\"search\" placeholder=\"words of a title, law, cause or case\" \
                 autocomplete=\"off\" aria-keyshortcuts=\"/\">
<output id=\"shown\" for=\"filter\" aria-live=\"polite\"></output>
</div>
<p id=\"none-shown\" hidden>No finding has these words. <kbd>Esc</kbd> in the field shows all \
                 again.</p>\n";
        body += &each(&self.findings, finding);
        if !self.named.is_empty() {
            body += &format!("<h3>Further findings</h3>{}", list(&self.named));
        }
        if self.unnamed > 0 {
            body += &format!("<p>and {} more: the JSON report has them all</p>\n", self.unnamed);
        }
        section("findings", "Findings", &body)
    }

    fn margins(&self) -> String {
        let mut body = if self.margins.is_empty() {
            "<p>Nothing was measured.</p>\n".to_owned()
        } else {
            let about = "How far results were from the exact value, in units of the bound that was \
                         derived for each: beyond 1 an error is proved wrong under its contract.";
            format!("<p>{about}</p>\n{}\n", self.margins)
        };
        if !self.shapes.is_empty() {
            body += &format!("<h3>Shapes</h3>{}\n", self.shapes);
        }
        section("margins", "Errors and bounds", &body)
    }

    fn laws(&self) -> String {
        let mut head = vec!["law".to_owned()];
        head.extend(self.dtypes.iter().cloned());
        let cell =
            |cell: &LawCell| format!("<td class=\"{}\">{}</td>", cell.kind, escaped(&cell.text));
        let rows = each(&self.laws, |row| {
            format!("<tr>{}{}</tr>\n", row_head(&row.law), each(&row.cells, cell))
        });
        wide("Laws by format", "", &head, &rows)
    }

    fn conventions(&self) -> String {
        let about = "What implementations choose differently, and what this target was judged by.";
        let head = ["field", "judged by", "how", "the standard"].map(str::to_owned);
        let rows = each(&self.conventions, |row| {
            let differs = if row.is_standard { "" } else { " class=\"differs\"" };
            let cells = [&row.judged, row.how, &row.standard];
            let cells = each(&cells, |text| format!("<td>{}</td>", escaped(text)));
            format!("<tr{differs}>{}{cells}</tr>\n", row_head(&row.field))
        });
        format!("<p>{about}</p>\n{}", wide("Conventions by field", "", &head, &rows))
    }

    fn environment(&self) -> String {
        let facts = each(&self.facts, |fact| pair(fact.name, &fact.text));
        let mut body = format!("<dl>\n{facts}</dl>\n");
        if !self.warnings.is_empty() {
            body += &format!("<h3>Warnings</h3>{}", list(&self.warnings));
        }
        body
    }
}

fn finding(one: &FindingView) -> String {
    let number = one.number;
    let mut body = format!(
        "<article class=\"finding {kind}\" id=\"finding-{number}\" \
         aria-labelledby=\"finding-{number}-title\" data-search=\"{search}\">
<h3 id=\"finding-{number}-title\"><a class=\"anchor\" href=\"#finding-{number}\">{number}</a> \
         <span class=\"word\">{word}</span> {title}</h3>
<dl>
{rows}</dl>
<h4>Smallest witness</h4>
<dl class=\"code\">
{evidence}</dl>\n",
        kind = one.kind,
        search = escaped(&one.search),
        word = one.word,
        title = escaped(&one.title),
        rows = each(&one.rows, |(name, text)| pair(name, text)),
        evidence = each(&one.evidence, |(name, text)| pair(name, text)),
    );
    if let Some(view) = &one.example {
        body += &example(view, number);
    }
    if !one.figures.is_empty() {
        let figures = each(&one.figures, |figure| {
            let caption = escaped(&figure.caption);
            format!("<figure>{}<figcaption>{caption}.</figcaption></figure>\n", figure.svg)
        });
        let pictured = escaped(&one.pictured);
        body += &format!("<h4>A whole head</h4>\n<p>{pictured}.</p>\n");
        body += &format!("<div class=\"figures\">\n{figures}</div>\n");
    }
    if !one.shapes.is_empty() {
        body += &format!("<h4>Shapes that show it</h4>\n{}\n", one.shapes);
    }
    body += "<h4>See it again</h4>\n";
    for (at, command) in one.commands.iter().enumerate() {
        let id = format!("finding-{number}-command-{}", at + 1);
        let pre = format!("<pre id=\"{id}\">{}</pre>", escaped(command));
        body += &copied(&pre, &id, "Copy");
    }
    if let Some(script) = &one.script {
        let summary = "<summary>The script, which needs no qkvet</summary>";
        body += &format!("<details>{summary}{}</details>\n", preformatted(script).trim_end());
    }
    let id = format!("finding-{number}-issue");
    let pre = format!("<pre id=\"{id}\" tabindex=\"0\">{}</pre>", escaped(&one.issue));
    body += &format!(
        "<details class=\"issue\"><summary>As an issue (Markdown)</summary>{}</details>\n",
        copied(&pre, &id, "Copy as issue").trim_end()
    );
    body + "</article>\n"
}

fn example(example: &ExampleView, number: usize) -> String {
    let mut body = format!(
        "<h4>Number by number</h4>\n<p>{}: from dot products to weights, and the values that they \
         weigh.</p>\n",
        escaped(&example.caption)
    );
    let table = |about: &str, caption: &str, table: &Table| {
        let rows = each(&table.rows, |row| {
            let cells = each(row, |cell| {
                let differs = if cell.differs { " class=\"differs\"" } else { "" };
                format!("<td{differs}>{}</td>", escaped(&cell.text))
            });
            format!("<tr>{cells}</tr>\n")
        });
        wide(&format!("{about} of finding {number}"), caption, &table.header, &rows)
    };
    body += &table("Weights", "", &example.keys);
    if example.more_keys > 0 {
        let more = example.more_keys;
        body += &format!("<p class=\"note\">and {more} keys of less weight</p>\n");
    }
    let caption = format!("<caption>{}</caption>\n", escaped(&example.result));
    body += &table("Result", &caption, &example.columns);
    if example.more_columns > 0 {
        let more = example.more_columns;
        body += &format!("<p class=\"note\">and {more} columns nearer to their bounds</p>\n");
    }
    body
}

/// The HTML of all items, one behind the other.
fn each<T>(items: &[T], html: impl FnMut(&T) -> String) -> String {
    items.iter().map(html).collect()
}

/// A part of the page with its title; `body` is HTML.
fn section(id: &str, title: &str, body: &str) -> String {
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n\
         {body}</section>\n"
    )
}

fn list(items: &[String]) -> String {
    format!("<ul>\n{}</ul>\n", each(items, |text| format!("<li>{}</li>\n", escaped(text))))
}

fn pair(name: &str, text: &str) -> String {
    format!("<dt>{name}</dt><dd>{}</dd>\n", escaped(text))
}

fn row_head(text: &str) -> String {
    format!("<th scope=\"row\">{}</th>", escaped(text))
}

fn preformatted(text: &str) -> String {
    format!("<pre tabindex=\"0\">{}</pre>\n", escaped(text))
}

/// Preformatted HTML with a button that copies its text.
fn copied(pre: &str, id: &str, button: &str) -> String {
    let button = format!("<button type=\"button\" data-copy=\"{id}\" hidden>{button}</button>");
    format!("<div class=\"command\">{pre}{button}</div>\n")
}

/// A table that scrolls by itself where it is wider than the page; `caption` and `rows` are HTML.
fn wide(about: &str, caption: &str, head: &[String], rows: &str) -> String {
    let head = each(head, |name| format!("<th scope=\"col\">{}</th>", escaped(name)));
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{about}\"><table>\n\
         {caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}
