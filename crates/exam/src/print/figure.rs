//! Drawings as SVG: a heat map with its numbers, or a curve for each row. Grey alone, light on ink,
//! with words for screen readers.

use qkvet_prove::render::{Style, render};

use super::document::Figure;
use super::markup::html as escape;
use crate::question::Drawing;

/// The drawing as one `<svg>` without blank lines, which Markdown keeps together.
pub(super) fn svg(figure: &Figure) -> String {
    let rows: Vec<Vec<f64>> = figure
        .numbers
        .rows
        .iter()
        .map(|row| row.iter().map(|text| text.parse().unwrap_or(0.0)).collect())
        .collect();
    let of = figure.plot.names.first().cloned().unwrap_or_else(|| render(&figure.of, Style::Words));
    match figure.plot.drawing {
        Drawing::Heat => {
            heat(&rows, &format!("heat map of {of}, rows are queries and columns are keys"))
        }
        Drawing::Curves => curves(&rows, &told(&figure.plot.names, &rows)),
    }
}

/// What stands below the drawing, and nowhere else: without one the numbers say it all.
pub(super) fn caption(figure: &Figure) -> Option<&'static str> {
    (figure.plot.drawing == Drawing::Heat).then_some("Darker is larger.")
}

/// The curves in words: what each is, and its points.
fn told(names: &[String], rows: &[Vec<f64>]) -> String {
    let curve = |(at, row): (usize, &Vec<f64>)| {
        let points: Vec<String> = row.iter().map(|x| format!("{x:.2}")).collect();
        let name = names.get(at).map(|name| format!(", {name}")).unwrap_or_default();
        format!("curve {}{name}: {}", at + 1, points.join(", "))
    };
    rows.iter().enumerate().map(curve).collect::<Vec<_>>().join("; ")
}

fn frame(width: usize, height: usize, title: &str, inner: &str) -> String {
    let title = escape(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-label=\"{title}\" font-family=\"sans-serif\" font-size=\"12\"><title>{title}</title>{inner}</svg>"
    )
}

/// The least and the largest entry; a range that is not empty.
fn range(rows: &[Vec<f64>]) -> (f64, f64) {
    let (low, high) = rows
        .iter()
        .flatten()
        .fold((0.0_f64, 0.0_f64), |(low, high), x| (low.min(*x), high.max(*x)));
    if high - low > 0.0 { (low, high) } else { (low, low + 1.0) }
}

fn heat(rows: &[Vec<f64>], title: &str) -> String {
    const SIDE: usize = 48;
    const EDGE: usize = 24;
    let (low, high) = range(rows);
    let n_cols = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut inner = String::new();
    for j in 0..n_cols {
        inner += &label(EDGE + j * SIDE + SIDE / 2, EDGE - 8, j + 1);
    }
    for (i, row) in rows.iter().enumerate() {
        inner += &label(EDGE / 2, EDGE + i * SIDE + SIDE / 2 + 4, i + 1);
        for (j, x) in row.iter().enumerate() {
            let (left, top) = (EDGE + j * SIDE, EDGE + i * SIDE);
            // From white to a grey on which black still has a contrast of 7 to 1.
            let share = (x - low) / (high - low);
            let grey = 255.0 - 96.0 * share;
            inner += &format!(
                "<rect x=\"{left}\" y=\"{top}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"rgb({grey:.0},{grey:.0},{grey:.0})\" \
                 stroke=\"#555\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#000\">{x:.2}</text>",
                left + SIDE / 2,
                top + SIDE / 2 + 4
            );
        }
    }
    frame(EDGE + n_cols * SIDE + 1, EDGE + rows.len() * SIDE + 1, title, &inner)
}

fn label(x: usize, y: usize, number: usize) -> String {
    format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"#333\">{number}</text>")
}

fn curves(rows: &[Vec<f64>], title: &str) -> String {
    const WIDTH: usize = 420;
    const HEIGHT: usize = 180;
    const EDGE: usize = 40;
    const DASHES: [&str; 3] = ["", " stroke-dasharray=\"6 4\"", " stroke-dasharray=\"2 3\""];
    let (low, high) = range(rows);
    // Weights are drawn up to 1.
    let high = if (0.5..1.0).contains(&high) { 1.0 } else { high };
    let n = rows.iter().map(Vec::len).max().unwrap_or(0).max(2);
    #[expect(clippy::cast_precision_loss, reason = "pixels and counts are small")]
    let place = |at: usize, x: f64| {
        let (inner_width, inner_height) = ((WIDTH - 2 * EDGE) as f64, (HEIGHT - 2 * EDGE) as f64);
        let across = EDGE as f64 + inner_width * at as f64 / (n - 1) as f64;
        (across, (HEIGHT - EDGE) as f64 - inner_height * (x - low) / (high - low))
    };
    let mut inner = format!(
        "<path d=\"M{EDGE} {EDGE}V{0}H{1}\" fill=\"none\" stroke=\"#555\"/>\
         <text x=\"{2}\" y=\"{EDGE}\" text-anchor=\"end\" fill=\"#333\">{high:.2}</text>\
         <text x=\"{2}\" y=\"{0}\" text-anchor=\"end\" fill=\"#333\">{low:.2}</text>",
        HEIGHT - EDGE,
        WIDTH - EDGE,
        EDGE - 4
    );
    for at in 0..n {
        let (across, _) = place(at, low);
        inner += &format!(
            "<text x=\"{across:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#333\">{}</text>",
            HEIGHT - EDGE + 16,
            at + 1
        );
    }
    for (number, row) in rows.iter().enumerate() {
        let points: Vec<(f64, f64)> = row.iter().enumerate().map(|(at, x)| place(at, *x)).collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dash = DASHES[number % DASHES.len()];
        inner += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#111\"{dash}/>",
            path.join(" ")
        );
        for (x, y) in &points {
            inner += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"#111\"/>");
        }
        if let Some((x, y)) = points.last() {
            inner += &format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#111\">{}</text>",
                x + 8.0,
                y + 4.0,
                number + 1
            );
        }
    }
    frame(WIDTH, HEIGHT, title, &inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Numbers;
    use crate::question::Plot;

    fn figure(drawing: Drawing, rows: &[&[&str]]) -> Figure {
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect();
        let of = qkvet_spec::syntax::parse("A @ V").unwrap_or_else(|error| panic!("{error}"));
        Figure {
            plot: Plot { drawing, names: vec!["one head".to_owned()] },
            of,
            numbers: Numbers { scalar: false, places: Some(4), exact: rows.clone(), rows },
        }
    }

    #[test]
    fn larger_entries_are_darker_and_all_are_written() {
        let drawn = svg(&figure(Drawing::Heat, &[&["1.0000", "0.0000"], &["0.2500", "0.7500"]]));
        for part in [
            "rgb(159,159,159)",
            "rgb(255,255,255)",
            "rgb(231,231,231)",
            ">0.25<",
            "role=\"img\"",
            "<title>",
        ] {
            assert!(drawn.contains(part), "{part}\n{drawn}");
        }
        assert!(!drawn.contains('\n'));
    }

    #[test]
    fn curves_have_a_point_for_each_entry() {
        let drawn =
            svg(&figure(Drawing::Curves, &[&["0.0", "1.0", "0.5"], &["0.5", "0.5", "0.5"]]));
        assert_eq!(drawn.matches("<circle").count(), 6);
        // The least entry stands on the axis, the largest at its top.
        assert!(drawn.contains("points=\"40.0,140.0 210.0,40.0 380.0,90.0\""), "{drawn}");
        assert!(
            drawn.contains(
                "aria-label=\"curve 1, one head: 0.00, 1.00, 0.50; curve 2: 0.50, 0.50, 0.50\""
            ),
            "{drawn}"
        );
        // A weight of .99 does not reach the top, which is 1.
        let drawn = svg(&figure(Drawing::Curves, &[&["0.0", "0.99"]]));
        assert!(
            drawn.contains(">1.00<") && drawn.contains("380.0,41.0") && !drawn.contains(">0.99<"),
            "{drawn}"
        );
        // A single entry or none is no reason to divide by 0.
        for rows in [&[&["0"][..]][..], &[]] {
            assert!(!svg(&figure(Drawing::Curves, rows)).contains("NaN"));
        }
    }
}
