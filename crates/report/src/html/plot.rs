//! A plot on logarithmic axes, drawn by hand: axes, marks of different forms, a legend.

use std::fmt::Write;

use crate::text::escaped;

/// Inner size of a plot.
pub(super) const WIDTH: f64 = 560.0;
pub(super) const HEIGHT: f64 = 240.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 16.0;
/// In the legend: room for a sign, for a character of a name (most are narrower), between two
/// entries, and for a row.
const SIGN: f64 = 16.0;
const CHARACTER: f64 = 6.6;
const APART: f64 = 18.0;
const ROW: f64 = 18.0;

/// Forms that are told apart without color.
pub(super) const FORMS: usize = 4;

/// Marks in a frame.
#[derive(Default)]
pub(super) struct Plot {
    body: String,
}

impl Plot {
    /// A mark at a place of the inner frame, from the upper left.
    pub(super) fn mark(&mut self, form: usize, x: f64, y: f64, about: &str) {
        let (x, y) = (LEFT + x, TOP + y);
        let title = format!("<title>{}</title>", escaped(about));
        let _ = match form % FORMS {
            0 => write!(
                self.body,
                "<circle class=\"s0\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\">{title}</circle>"
            ),
            1 => write!(
                self.body,
                "<path class=\"s1\" d=\"M{:.1} {:.1}h8v8h-8z\">{title}</path>",
                x - 4.0,
                y - 4.0
            ),
            2 => write!(
                self.body,
                "<path class=\"s2\" d=\"M{x:.1} {:.1}l5 9h-10z\">{title}</path>",
                y - 5.5
            ),
            _ => write!(
                self.body,
                "<path class=\"s3\" d=\"M{x:.1} {:.1}l5.5 5.5l-5.5 5.5l-5.5 -5.5z\">{title}</path>",
                y - 5.5
            ),
        };
    }

    /// A ring around a place, in which what is there stays to be seen.
    pub(super) fn ring(&mut self, x: f64, y: f64, about: &str) {
        let (x, y) = (LEFT + x - 8.0, TOP + y - 8.0);
        let _ = write!(
            self.body,
            "<path class=\"ring\" d=\"M{x:.1} {y:.1}h16v16h-16z\"><title>{}</title></path>",
            escaped(about)
        );
    }

    /// A cross.
    pub(super) fn cross(&mut self, x: f64, y: f64, about: &str) {
        let (x, y) = (LEFT + x - 4.5, TOP + y - 4.5);
        let _ = write!(
            self.body,
            "<path class=\"cross\" d=\"M{x:.1} {y:.1}l9 9m0 -9l-9 9\"><title>{}</title></path>",
            escaped(about)
        );
    }

    /// A mark that is crossed, paler than others so that both are seen.
    pub(super) fn struck(&mut self, form: usize, x: f64, y: f64, about: &str) {
        self.body.push_str("<g class=\"struck\">");
        self.mark(form, x, y, about);
        self.body.push_str("</g>");
        self.cross(x, y, about);
    }

    /// A line from place to place.
    pub(super) fn line(&mut self, form: usize, places: &[(f64, f64)]) {
        let mut d = String::new();
        for (at, (x, y)) in places.iter().enumerate() {
            let step = if at == 0 { 'M' } else { 'L' };
            let _ = write!(d, "{step}{:.1} {:.1}", LEFT + x, TOP + y);
        }
        let _ = write!(self.body, "<path class=\"line s{}\" d=\"{d}\"/>", form % FORMS);
    }

    /// A line across the frame with its name at the right.
    pub(super) fn level(&mut self, y: f64, name: &str) {
        let y = TOP + y;
        let _ = write!(
            self.body,
            "<path class=\"level\" d=\"M{LEFT} {y:.1}h{WIDTH}\"/><text class=\"level-name\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>",
            LEFT + WIDTH - 4.0,
            y - 5.0
        );
    }

    /// A number below the frame.
    pub(super) fn tick_across(&mut self, x: f64, text: &str) {
        let _ = write!(
            self.body,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
            LEFT + x,
            TOP + HEIGHT + 16.0
        );
    }

    /// A number beside the frame.
    pub(super) fn tick_up(&mut self, y: f64, text: &str) {
        let y = TOP + y;
        let _ = write!(
            self.body,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}h{WIDTH}\"/><text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }

    /// The picture, as wide as it has to be to be read: names of the axes, a legend of forms, of
    /// rings if they have a name, and of crosses, and what it shows in words.
    pub(super) fn svg(
        mut self,
        title: &str,
        about: &str,
        (across, up, crosses): (&str, &str, &str),
        legend: &[String],
        rings: Option<&str>,
    ) -> String {
        let body = std::mem::take(&mut self.body);
        // Beside each other as far as there is room: a name is about as wide as it has characters.
        let (mut x, mut y) = (0.0, HEIGHT + 46.0);
        for (form, name) in
            legend.iter().map(String::as_str).chain([crosses]).chain(rings).enumerate()
        {
            let width = SIGN + CHARACTER * name.chars().count() as f64;
            if x > 0.0 && x + width > WIDTH {
                (x, y) = (0.0, y + ROW);
            }
            match form.checked_sub(legend.len()) {
                None => self.mark(form, x + 6.0, y, name),
                Some(0) => self.cross(x + 6.0, y, name),
                Some(_) => self.ring(x + 4.0, y, name),
            }
            let _ = write!(
                self.body,
                "<text class=\"legend\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT + x + SIGN,
                TOP + y + 4.0,
                escaped(name)
            );
            x += width + APART;
        }
        let (w, h) = (LEFT + WIDTH + 16.0, TOP + y + 12.0);
        format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><svg role=\"img\" class=\"plot\" viewBox=\"0 0 {w} {h}\"><title>{title}</title><desc>{about}</desc>\
             <path class=\"frame\" d=\"M{LEFT} {TOP}v{HEIGHT}h{WIDTH}\"/>{body}{}\
             <text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\">{across}</text>\
             <text class=\"axis\" transform=\"translate(14 {:.1}) rotate(-90)\">{up}</text></svg></div>",
            self.body,
            LEFT + WIDTH / 2.0,
            TOP + HEIGHT + 32.0,
            TOP + HEIGHT / 2.0,
        )
    }
}

/// The power of two that is not below.
pub(super) fn power(n: usize) -> u32 {
    n.max(1).next_power_of_two().trailing_zeros()
}

/// `3–4` for the exponent 2: what [`power`] puts together.
pub(super) fn span(power: u32) -> String {
    match power {
        0 => "≤1".to_owned(),
        1 => "2".to_owned(),
        power => format!("{}–{}", (1_usize << (power - 1)) + 1, 1_usize << power),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_put_together_by_powers() {
        assert_eq!([1, 2, 3, 4, 5, 130].map(power), [0, 1, 2, 2, 3, 8]);
        assert_eq!([0, 1, 2, 3, 8].map(span), ["≤1", "2", "3–4", "5–8", "129–256"]);
    }
}
