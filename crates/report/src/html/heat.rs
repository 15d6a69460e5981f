//! Heat maps: weights and mask over queries and keys, errors over the elements of a result. A shade is a number between 0 and 1; what is
//! hidden is hatched, what is wrong is outlined and crossed.

use std::fmt::Write;

use qkvet_spec::{Numbers, Picture};

use crate::markdown::short;
use crate::text::escaped;

/// Side of a cell.
const CELL: usize = 20;
/// Room for the numbers of rows and columns.
const MARGIN: usize = 26;
/// Numbers stand in the cells of maps of at most this many rows and columns.
const MOST_WRITTEN: usize = 8;
/// Shades between none and full.
const SHADES: usize = 10;

/// A picture with a line below it.
pub(super) struct Figure {
    pub(super) caption: String,
    pub(super) svg: String,
}

/// The maps of a head.
pub(super) fn pictures(picture: &Picture) -> Vec<Figure> {
    let has_other = !picture.supposed_weights.is_empty();
    let mut figures = vec![weights(
        if has_other { "Weights and mask, as they should be" } else { "Weights and mask" },
        &picture.weights,
        &picture.seen,
    )];
    if has_other {
        figures.push(weights("Weights and mask with the cause", &picture.supposed_weights, &picture.supposed_seen));
    }
    figures.push(errors(&picture.result, &picture.ratios));
    figures
}

fn weights(caption: &str, rows: &[Numbers], seen: &[String]) -> Figure {
    let is_seen = |i: usize, j: usize| seen.get(i).and_then(|row| row.as_bytes().get(j)) != Some(&b'0');
    let shade = |x: f64| if x.is_finite() { x.abs().min(1.0) } else { 0.0 };
    let n_hidden = (0..rows.len()).map(|i| (0..width(rows)).filter(|j| !is_seen(i, *j)).count()).sum::<usize>();
    let mut map = Map::new(rows.len(), width(rows));
    map.shades("heat", |i, j| if is_seen(i, j) { shade(number(rows, i, j)) } else { 0.0 });
    map.hatched(|i, j| !is_seen(i, j));
    map.written(|i, j| if is_seen(i, j) { short2(number(rows, i, j)) } else { String::new() });
    let about = format!(
        "{} queries down, {} keys across; a fuller cell is a larger weight, from 0 to 1, and the {n_hidden} hatched cells are hidden keys",
        rows.len(),
        width(rows)
    );
    map.figure(caption, &about)
}

fn errors(result: &str, rows: &[Numbers]) -> Figure {
    let is_wrong = |i: usize, j: usize| {
        let x = number(rows, i, j);
        x.is_nan() || x > 1.0
    };
    let n_wrong = (0..rows.len()).map(|i| (0..width(rows)).filter(|j| is_wrong(i, *j)).count()).sum::<usize>();
    let mut map = Map::new(rows.len(), width(rows));
    map.shades("heat", |i, j| if is_wrong(i, j) { 0.0 } else { number(rows, i, j).clamp(0.0, 1.0) * 0.6 });
    map.shades("wrong", |i, j| if is_wrong(i, j) { 0.4 } else { 0.0 });
    map.crossed(is_wrong);
    map.written(|i, j| if is_wrong(i, j) { String::new() } else { short2(number(rows, i, j)) });
    let about = format!(
        "{} queries down, {} columns across; a fuller cell is nearer to its bound, and the {n_wrong} outlined and crossed cells are elements farther out than their bound allows",
        rows.len(),
        width(rows)
    );
    map.figure(&format!("Error over bound of the {result}"), &about)
}

fn width(rows: &[Numbers]) -> usize {
    rows.iter().map(|row| row.0.len()).max().unwrap_or(0)
}

fn number(rows: &[Numbers], i: usize, j: usize) -> f64 {
    rows.get(i).and_then(|row| row.0.get(j)).copied().unwrap_or(f64::NAN)
}

/// A number that fits a cell.
fn short2(x: f64) -> String {
    if x == 0.0 || x.abs() >= 0.01 || x.is_nan() { short((x * 100.0).round() / 100.0) } else { "~0".to_owned() }
}

/// Cells in rows and columns.
struct Map {
    rows: usize,
    columns: usize,
    body: String,
}

impl Map {
    fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns, body: String::new() }
    }

    fn cells(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let columns = self.columns;
        (0..self.rows * columns).map(move |at| (at / columns, at % columns))
    }

    fn corner(i: usize, j: usize) -> (usize, usize) {
        (MARGIN + j * CELL, MARGIN + i * CELL)
    }

    /// One path for each shade.
    fn shades(&mut self, class: &str, shade: impl Fn(usize, usize) -> f64) {
        let level = |x: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and the number of shades"
            )]
            let level = (x.clamp(0.0, 1.0) * SHADES as f64).ceil() as usize;
            level
        };
        for wanted in 1..=SHADES {
            let mut d = String::new();
            for (i, j) in self.cells().filter(|(i, j)| level(shade(*i, *j)) == wanted) {
                let (x, y) = Self::corner(i, j);
                let _ = write!(d, "M{x} {y}h{CELL}v{CELL}h-{CELL}z");
            }
            if !d.is_empty() {
                let opacity = wanted as f64 / SHADES as f64;
                let _ = write!(self.body, "<path class=\"{class}\" fill-opacity=\"{opacity}\" d=\"{d}\"/>");
            }
        }
    }

    fn path(&mut self, class: &str, is_in: impl Fn(usize, usize) -> bool, cell: impl Fn(usize, usize) -> String) {
        let d: String = self
            .cells()
            .filter(|(i, j)| is_in(*i, *j))
            .map(|(i, j)| {
                let (x, y) = Self::corner(i, j);
                cell(x, y)
            })
            .collect();
        if !d.is_empty() {
            let _ = write!(self.body, "<path class=\"{class}\" d=\"{d}\"/>");
        }
    }

    fn hatched(&mut self, is_hidden: impl Fn(usize, usize) -> bool) {
        let half = CELL / 2;
        self.path("hatch", is_hidden, |x, y| {
            format!(
                "M{x} {}l{half} -{half}M{x} {}l{CELL} -{CELL}M{} {}l{half} -{half}",
                y + half,
                y + CELL,
                x + half,
                y + CELL
            )
        });
    }

    fn crossed(&mut self, is_wrong: impl Fn(usize, usize) -> bool) {
        let (inset, inner) = (5, CELL - 10);
        self.path("cross", is_wrong, |x, y| {
            let (left, top) = (x + inset, y + inset);
            let side = CELL - 2;
            format!(
                "M{} {}h{side}v{side}h-{side}zM{left} {top}l{inner} {inner}M{} {top}l-{inner} {inner}",
                x + 1,
                y + 1,
                left + inner
            )
        });
    }

    fn written(&mut self, text: impl Fn(usize, usize) -> String) {
        if self.rows > MOST_WRITTEN || self.columns > MOST_WRITTEN {
            return;
        }
        for (i, j) in self.cells() {
            let (x, y) = Self::corner(i, j);
            let text = text(i, j);
            if !text.is_empty() {
                let _ = write!(self.body, "<text class=\"cell\" x=\"{}\" y=\"{}\">{text}</text>", x + CELL / 2, y + 13);
            }
        }
    }

    fn figure(mut self, caption: &str, about: &str) -> Figure {
        let (w, h) = (MARGIN + self.columns * CELL + 4, MARGIN + self.rows * CELL + 4);
        let every = |n: usize| if n > 16 { 4 } else { 1 };
        for j in (0..self.columns).step_by(every(self.columns)) {
            let x = MARGIN + j * CELL + CELL / 2;
            let _ = write!(self.body, "<text class=\"tick\" x=\"{x}\" y=\"{}\">{j}</text>", MARGIN - 5);
        }
        for i in (0..self.rows).step_by(every(self.rows)) {
            let y = MARGIN + i * CELL + CELL / 2 + 3;
            let _ = write!(self.body, "<text class=\"tick\" x=\"{}\" y=\"{y}\">{i}</text>", MARGIN - 12);
        }
        let (right, bottom) = (self.columns * CELL, self.rows * CELL);
        let _ = write!(self.body, "<path class=\"frame\" d=\"M{MARGIN} {MARGIN}h{right}v{bottom}h-{right}z\"/>");
        // Small maps are drawn larger, up to a width that two of them share a line.
        let scale = if w * 2 <= 360 { 2 } else { 1 };
        let svg = format!(
            "<svg role=\"img\" viewBox=\"0 0 {w} {h}\" width=\"{}\" height=\"{}\"><title>{}</title><desc>{}</desc>{}</svg>",
            w * scale,
            h * scale,
            escaped(caption),
            escaped(about),
            self.body
        );
        Figure { caption: format!("{caption}: {about}"), svg }
    }
}
