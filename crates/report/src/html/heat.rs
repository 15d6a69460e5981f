//! Heat maps: weights and mask over queries and keys, errors over the elements of a result. A shade
//! is a number between 0 and 1; what is hidden is hatched, what is wrong is outlined and crossed.

use std::fmt::Write;

use qkvet_spec::{Numbers, Picture};

use crate::markdown::short;
use crate::text::escaped;

/// Room above and left of the cells for the name of an axis and its numbers.
const MARGIN: usize = 40;
/// Room below for the legend.
const LEGEND: usize = 34;
/// Width of the legend.
const LEGEND_WIDTH: usize = 224;
/// Numbers stand in the cells of maps of at most this many rows and columns.
const MAX_WRITTEN: usize = 8;
/// Shades between none and full.
const SHADES: usize = 10;
/// From this shade on a number in a cell has the color of the paper.
const DARK: f64 = 0.65;
/// Room that a cell may be wide, by how many there are.
const SIDES: [(usize, usize); 4] = [(8, 36), (16, 22), (32, 14), (usize::MAX, 10)];

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
        figures.push(weights(
            "Weights and mask with the cause",
            &picture.supposed_weights,
            &picture.supposed_seen,
        ));
    }
    figures.push(errors(&picture.result, &picture.ratios));
    figures
}

fn weights(caption: &str, rows: &[Numbers], seen: &[String]) -> Figure {
    let is_seen =
        |i: usize, j: usize| seen.get(i).and_then(|row| row.as_bytes().get(j)) != Some(&b'0');
    let shade = |x: f64| if x.is_finite() { x.abs().min(1.0) } else { 0.0 };
    let n_hidden = (0..rows.len())
        .map(|i| (0..width(rows)).filter(|j| !is_seen(i, *j)).count())
        .sum::<usize>();
    let mut map = Map::new(rows.len(), width(rows), "key j");
    map.shades("heat", |i, j| if is_seen(i, j) { shade(number(rows, i, j)) } else { 0.0 });
    map.ruled();
    map.hatched(|i, j| !is_seen(i, j));
    map.written(|i, j| {
        if is_seen(i, j) {
            (short2(number(rows, i, j)), shade(number(rows, i, j)))
        } else {
            NOTHING
        }
    });
    map.legend("weight 0", "1", |map, x, y| {
        map.hatch_at(x, y);
        "hidden key"
    });
    let about = format!(
        "{} queries down, {} keys across; a fuller cell is a larger weight, from 0 to 1, and the {n_hidden} hatched cells are hidden keys",
        rows.len(),
        width(rows)
    );
    map.figure(
        format!("{caption}: {} of {} places are hidden", n_hidden, rows.len() * width(rows)),
        caption,
        &about,
    )
}

fn errors(result: &str, rows: &[Numbers]) -> Figure {
    let is_wrong = |i: usize, j: usize| {
        let x = number(rows, i, j);
        x.is_nan() || x > 1.0
    };
    let shade = |x: f64| x.clamp(0.0, 1.0) * HELD;
    let n_wrong = (0..rows.len())
        .map(|i| (0..width(rows)).filter(|j| is_wrong(i, *j)).count())
        .sum::<usize>();
    let mut map =
        Map::new(rows.len(), width(rows), if result == "weights" { "key j" } else { "column c" });
    map.shades("heat", |i, j| if is_wrong(i, j) { 0.0 } else { shade(number(rows, i, j)) });
    map.shades("wrong", |i, j| if is_wrong(i, j) { WRONG } else { 0.0 });
    map.ruled();
    map.crossed(is_wrong);
    map.written(|i, j| {
        if is_wrong(i, j) {
            NOTHING
        } else {
            (short2(number(rows, i, j)), shade(number(rows, i, j)))
        }
    });
    map.legend("error 0", "its bound", |map, x, y| {
        let _ = write!(
            map.body,
            "<path class=\"wrong\" fill-opacity=\"{WRONG}\" d=\"M{x} {y}h{KEY}v{KEY}h-{KEY}z\"/>\
             <path class=\"cross\" d=\"M{x} {y}h{KEY}v{KEY}h-{KEY}zM{} {}l6 6m0 -6l-6 6\"/>",
            x + 3,
            y + 3
        );
        "beyond"
    });
    let about = format!(
        "{} queries down, {} columns across; a fuller cell is nearer to its bound, and the {n_wrong} outlined and crossed cells are elements farther out than their bound allows",
        rows.len(),
        width(rows)
    );
    let caption = format!("Error over bound of the {result}");
    map.figure(
        format!(
            "{caption}: {n_wrong} of {} elements are farther out than it allows",
            rows.len() * width(rows)
        ),
        &caption,
        &about,
    )
}

/// Shade of an element at its bound, and of one beyond.
const HELD: f64 = 0.6;
const WRONG: f64 = 0.4;
/// Side of a cell of the legend.
const KEY: usize = 12;
/// Nothing is written in a cell.
const NOTHING: (String, f64) = (String::new(), 0.0);

fn width(rows: &[Numbers]) -> usize {
    rows.iter().map(|row| row.0.len()).max().unwrap_or(0)
}

fn number(rows: &[Numbers], i: usize, j: usize) -> f64 {
    rows.get(i).and_then(|row| row.0.get(j)).copied().unwrap_or(f64::NAN)
}

/// A number that fits a cell.
fn short2(x: f64) -> String {
    if x == 0.0 || x.abs() >= 0.01 || x.is_nan() {
        short((x * 100.0).round() / 100.0)
    } else {
        "~0".to_owned()
    }
}

/// Cells in rows and columns.
struct Map {
    rows: usize,
    columns: usize,
    /// Side of a cell.
    side: usize,
    /// What the columns are.
    across: &'static str,
    body: String,
}

impl Map {
    fn new(rows: usize, columns: usize, across: &'static str) -> Self {
        let side =
            SIDES.iter().find(|(most, _)| columns.max(rows) <= *most).map_or(10, |(_, side)| *side);
        Self { rows, columns, side, across, body: String::new() }
    }

    fn cells(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let columns = self.columns;
        (0..self.rows * columns).map(move |at| (at / columns, at % columns))
    }

    fn corner(&self, i: usize, j: usize) -> (usize, usize) {
        (MARGIN + j * self.side, MARGIN + i * self.side)
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
        let side = self.side;
        for wanted in 1..=SHADES {
            let mut d = String::new();
            for (i, j) in self.cells().filter(|(i, j)| level(shade(*i, *j)) == wanted) {
                let (x, y) = self.corner(i, j);
                let _ = write!(d, "M{x} {y}h{side}v{side}h-{side}z");
            }
            if !d.is_empty() {
                let opacity = wanted as f64 / SHADES as f64;
                let _ = write!(
                    self.body,
                    "<path class=\"{class}\" fill-opacity=\"{opacity}\" d=\"{d}\"/>"
                );
            }
        }
    }

    /// Lines between the cells.
    fn ruled(&mut self) {
        let (right, bottom) = (self.columns * self.side, self.rows * self.side);
        let down =
            (1..self.columns).map(|j| format!("M{} {MARGIN}v{bottom}", MARGIN + j * self.side));
        let across =
            (1..self.rows).map(|i| format!("M{MARGIN} {}h{right}", MARGIN + i * self.side));
        let d: String = down.chain(across).collect();
        if !d.is_empty() {
            let _ = write!(self.body, "<path class=\"grid\" d=\"{d}\"/>");
        }
    }

    fn path(
        &mut self,
        class: &str,
        is_in: impl Fn(usize, usize) -> bool,
        cell: impl Fn(usize, usize) -> String,
    ) {
        let d: String = self
            .cells()
            .filter(|(i, j)| is_in(*i, *j))
            .map(|(i, j)| {
                let (x, y) = self.corner(i, j);
                cell(x, y)
            })
            .collect();
        if !d.is_empty() {
            let _ = write!(self.body, "<path class=\"{class}\" d=\"{d}\"/>");
        }
    }

    fn hatched(&mut self, is_hidden: impl Fn(usize, usize) -> bool) {
        let side = self.side;
        self.path("hatch", is_hidden, |x, y| hatch(x, y, side));
    }

    fn hatch_at(&mut self, x: usize, y: usize) {
        let _ = write!(
            self.body,
            "<path class=\"hatch\" d=\"{}\"/><path class=\"frame\" d=\"M{x} {y}h{KEY}v{KEY}h-{KEY}z\"/>",
            hatch(x, y, KEY)
        );
    }

    fn crossed(&mut self, is_wrong: impl Fn(usize, usize) -> bool) {
        let side = self.side - 2;
        // A cross of a quarter to three quarters of the cell.
        let (inset, inner) = (self.side.div_ceil(4), self.side / 2);
        self.path("cross", is_wrong, |x, y| {
            let (left, top) = (x + inset, y + inset);
            format!(
                "M{} {}h{side}v{side}h-{side}zM{left} {top}l{inner} {inner}M{} {top}l-{inner} {inner}",
                x + 1,
                y + 1,
                left + inner
            )
        });
    }

    /// Numbers in the cells, with the shade of each.
    fn written(&mut self, text: impl Fn(usize, usize) -> (String, f64)) {
        if self.rows > MAX_WRITTEN || self.columns > MAX_WRITTEN {
            return;
        }
        for (i, j) in self.cells() {
            let (x, y) = self.corner(i, j);
            let (text, shade) = text(i, j);
            if !text.is_empty() {
                let class = if shade >= DARK { "cell full" } else { "cell" };
                let (x, y) = (x + self.side / 2, y + self.side / 2 + 4);
                let _ =
                    write!(self.body, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
            }
        }
    }

    /// What shades mean, and what the other sign does, which is drawn at the place it is given and
    /// has a name.
    fn legend(
        &mut self,
        none: &str,
        full: &str,
        sign: impl FnOnce(&mut Self, usize, usize) -> &'static str,
    ) {
        let (mut x, y) = (MARGIN, MARGIN + self.rows * self.side + 14);
        let text = |map: &mut Self, x: usize, text: &str| {
            let _ =
                write!(map.body, "<text class=\"legend\" x=\"{x}\" y=\"{}\">{text}</text>", y + 10);
            // Letters of this size are about six wide.
            x + 6 * text.chars().count()
        };
        x = text(self, x, none) + 4;
        for step in 0..4 {
            let opacity = f64::from(step) / 3.0 * if full == "1" { 1.0 } else { HELD };
            let _ = write!(
                self.body,
                "<path class=\"heat\" fill-opacity=\"{opacity:.2}\" d=\"M{x} {y}h{KEY}v{KEY}h-{KEY}z\"/>\
                 <path class=\"frame\" d=\"M{x} {y}h{KEY}v{KEY}h-{KEY}z\"/>"
            );
            x += KEY;
        }
        x = text(self, x + 4, full) + 14;
        let name = sign(self, x, y);
        text(self, x + KEY + 5, name);
    }

    fn figure(mut self, caption: String, title: &str, about: &str) -> Figure {
        let (right, bottom) = (self.columns * self.side, self.rows * self.side);
        let (w, h) = (MARGIN + right.max(LEGEND_WIDTH) + 4, MARGIN + bottom + LEGEND);
        let every = |n: usize| [1, 4][usize::from(n > 16)];
        for j in (0..self.columns).step_by(every(self.columns)) {
            let x = MARGIN + j * self.side + self.side / 2;
            let _ =
                write!(self.body, "<text class=\"tick\" x=\"{x}\" y=\"{}\">{j}</text>", MARGIN - 6);
        }
        for i in (0..self.rows).step_by(every(self.rows)) {
            let y = MARGIN + i * self.side + self.side / 2 + 4;
            let _ = write!(
                self.body,
                "<text class=\"tick end\" x=\"{}\" y=\"{y}\">{i}</text>",
                MARGIN - 6
            );
        }
        let _ = write!(
            self.body,
            "<path class=\"frame\" d=\"M{MARGIN} {MARGIN}h{right}v{bottom}h-{right}z\"/>\
             <text class=\"name\" x=\"{MARGIN}\" y=\"14\">{} →</text>\
             <text class=\"name end\" transform=\"translate(14 {MARGIN}) rotate(-90)\">← query i</text>",
            self.across
        );
        let svg = format!(
            "<svg role=\"img\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\"><title>{}</title><desc>{}</desc>{}</svg>",
            escaped(title),
            escaped(about),
            self.body
        );
        Figure { caption, svg }
    }
}

/// Two lines from lower left to upper right.
fn hatch(x: usize, y: usize, side: usize) -> String {
    let half = side / 2;
    format!("M{x} {}l{half} -{half}M{} {}l{half} -{half}", y + half, x + half, y + side)
        + &format!("M{x} {}l{side} -{side}", y + side)
}
