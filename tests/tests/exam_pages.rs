//! Sheets and keys of every problem set in a browser: nothing leaves the page, nothing is clipped,
//! every text can be read. Needs Chromium.

#![expect(
    clippy::disallowed_methods,
    reason = "reads and changes the pages of an exam, and starts a browser"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use qkvet_tests::{PROBLEM_SETS, browser, pictures, root, run};

/// A printed page of A4, a narrow window, one as wide as a screen, and a phone.
const WIDTHS: [(u32, bool); 4] = [(718, true), (720, false), (1280, false), (390, false)];

/// Writes what is wrong with a page into its title: boxes that leave the page or their own box, and
/// texts of too little contrast. On a phone a formula may be moved in its own box.
const CHECK: &str = r"
const wrong = [];
const root = document.documentElement;
const width = root.clientWidth;
const say = (element, what) => wrong.push(what + ' at ' + element.tagName + ': ' + element.textContent.trim().slice(0, 40));
if (root.scrollWidth > width) wrong.push('the page is wider than its window');
const light = (rgb) => {
  const [r, g, b] = rgb.map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const color = (text) => { const n = text.match(/[\d.]+/g).map(Number); return { rgb: n.slice(0, 3), opaque: n.length < 4 || n[3] > 0.99 }; };
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const found = color(getComputedStyle(e).backgroundColor);
    if (found.opaque) return found.rgb;
  }
  return [255, 255, 255];
};
for (const table of document.querySelectorAll('mtable')) {
  const drawn = parseFloat(getComputedStyle(table).borderLeftWidth) > 0;
  const [bracket, height] = [table.previousElementSibling, table.getBoundingClientRect().height];
  if (!drawn && !(bracket && bracket.getBoundingClientRect().height > height - 1)) say(table, 'brackets that are too short');
}
const moves = (element) => width < 500 && element.closest('.display, li:has(mtable)');
let texts = 0;
for (const element of document.body.querySelectorAll('*')) {
  const box = element.getBoundingClientRect();
  if (box.width > 0 && !moves(element.parentElement) && (box.right > width + 1 || box.left < -1)) say(element, 'out of the page');
  const style = getComputedStyle(element);
  if (style.overflowX !== 'visible' && !moves(element) && element.scrollWidth > element.clientWidth + 1) say(element, 'clipped');
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!own || box.width === 0) continue;
  texts += 1;
  const ink = element.ownerSVGElement ? style.fill : style.color;
  if (!ink.startsWith('rgb')) continue;
  const [a, b] = [light(color(ink).rgb), light(behind(element))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < 4.5) say(element, 'a contrast of ' + contrast.toFixed(2));
}
document.title = 'checked ' + texts + ' texts; ' + (wrong.length ? 'wrong: ' + wrong.slice(0, 5).join(' | ') : 'all right');
";

/// What the script says of the page in a frame of each width, one browser for all.
fn checked(browser: &Path, page: &str, folder: &Path, widths: &[(u32, bool)]) -> Vec<String> {
    assert!(page.contains("</body>"), "a page without an end");
    let frame = |(width, is_print): &(u32, bool)| {
        let script = format!("<script>addEventListener('load', () => {{{CHECK}}})</script></body>");
        // A frame knows no paper: what is said of print is said of all.
        let page =
            if *is_print { page.replace("@media print", "@media all") } else { page.to_owned() };
        let page =
            page.replacen("</body>", &script, 1).replace('&', "&amp;").replace('"', "&quot;");
        format!("<iframe width={width} height=1000 srcdoc=\"{page}\"></iframe>\n")
    };
    let frames: String = widths.iter().map(frame).collect();
    let path = folder.join("checked.html");
    let titles = "document.title = [...document.querySelectorAll('iframe')].map((frame) => frame.contentDocument.title).join('\\n')";
    let all = format!(
        "<!doctype html><title></title><body>{frames}<script>addEventListener('load', () => {{{titles}}})</script>"
    );
    fs::write(&path, all).expect("a page");
    let out = shown(browser, folder, &path, (1600, 1000), "--dump-dom");
    let title = out.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let titles: Vec<String> = title.unwrap_or_default().0.lines().map(str::to_owned).collect();
    assert_eq!(titles.len(), widths.len(), "{titles:?}");
    titles
}

/// What the browser prints of a file in a window of this width and height.
fn shown(
    browser: &Path,
    folder: &Path,
    file: &Path,
    (width, height): (u32, u32),
    what: &str,
) -> String {
    let out = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", what])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--window-size={width},{height}"))
        .arg(file)
        .output()
        .expect("a browser");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Pictures of a page in windows of all widths, to be looked at.
fn draw(browser: &Path, file: &Path, folder: &Path) {
    let Some(pictures) = pictures() else { return };
    let set = folder.file_name().unwrap_or_default().to_string_lossy();
    let part = file.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    for (width, _) in WIDTHS {
        let picture = format!("--screenshot={pictures}/{set}-{part}-{width}.png");
        shown(browser, folder, file, (width, 6000), &picture);
    }
}

fn pages(out: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = ["student", "key"]
        .iter()
        .flat_map(|part| fs::read_dir(out.join(part)).expect("a folder of the exam"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "html"))
        .collect();
    all.sort();
    all
}

#[test]
fn pages_of_every_set_fit_their_window_and_can_be_read() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    for set in PROBLEM_SETS {
        let out = folder.path().join(set);
        run(root(), &["exam", "build", set, "--seed", "9", "--out", &out.display().to_string()])
            .expect(0, &[]);
        let pages = pages(&out);
        assert_eq!(pages.len(), 2, "{set}");
        for path in pages {
            let page = fs::read_to_string(&path).expect("a page");
            draw(&browser, &path, &out);
            for (title, width) in checked(&browser, &page, &out, &WIDTHS).iter().zip(WIDTHS) {
                if !title.ends_with("all right") {
                    wrong.push(format!("{} at {width:?}: {title}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_check_of_pages_finds_what_is_wrong() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let page = |body: &str| {
        format!("<!doctype html><html><head><title>x</title></head><body>{body}</body></html>")
    };
    let told = |body: &str, width| checked(&browser, &page(body), folder.path(), &[width]).concat();
    for (body, expected) in [
        ("<p>Good.</p>", "checked 1 texts; all right"),
        ("<p style='width: 2000px'>Wide.</p>", "wider"),
        (
            "<p style='width: 40px; overflow: hidden; white-space: nowrap'>Much too long for it.</p>",
            "clipped at P",
        ),
        ("<p style='color: #aaa'>Pale.</p>", "a contrast of 2.3"),
        (
            "<div style='overflow-x: auto; width: 90px'><p style='width: 300px'>Wide.</p></div>",
            "clipped at DIV",
        ),
        ("<style>@media print { p { width: 800px } }</style><p>Wide on paper.</p>", "all right"),
        (
            "<math><mrow><mo stretchy='false'>[</mo><mtable><mtr><mtd><mn>1</mn></mtd></mtr><mtr><mtd><mn>2</mn></mtd></mtr></mtable></mrow></math>",
            "brackets that are too short at mtable",
        ),
    ] {
        let title = told(body, (720, false));
        assert!(title.contains(expected), "{body}: {title}");
    }
    let paper = "<style>@media print { p { width: 800px } }</style><p>Wide on paper.</p>";
    let title = told(paper, (718, true));
    assert!(title.contains("wider"), "{title}");
    for (body, expected) in [
        (
            "<div class='display' style='overflow-x: auto'><p style='width: 800px'>Moves.</p></div>",
            "all right",
        ),
        ("<p style='width: 450px'>Wide on a phone.</p>", "out of the page at P"),
    ] {
        let title = told(body, (390, false));
        assert!(title.contains(expected), "{body}: {title}");
    }
}
