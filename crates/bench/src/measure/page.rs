//! An HTML page with plots, in one file that needs nothing else.

use std::fmt::Write as _;

use crate::measure::facts::Facts;
use crate::measure::results::verdict;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\
    text{font:13px system-ui,sans-serif}table{border-collapse:collapse}td,th{padding:.1em .8em;text-align:right}\
    td:first-child,th:first-child{text-align:left}tr:nth-child(even){background:#f2f5f6}.own{fill:#0a7d6b}.other{fill:#b9c4c9}\
    .met{color:#0a7d6b}.missed{color:#b3261e}polyline{fill:none;stroke-width:2}";
/// The width of the longest bar.
const BAR_PIXELS: f64 = 480.0;
const BAR_STEP_PIXELS: usize = 24;
/// The area that curves are drawn in, and where it begins.
const CURVE_PIXELS: (f64, f64) = (520.0, 220.0);
const CURVE_START: (f64, f64) = (70.0, 10.0);
/// Of the curves, in turn.
const COLOURS: [&str; 8] =
    ["#0a7d6b", "#b3261e", "#3b5bdb", "#e8890c", "#7b3fa0", "#5c6b73", "#2f9e44", "#c2255c"];

/// A bar of a picture: its name, its length, what stands behind it.
pub struct Bar {
    pub name: String,
    pub length: f64,
    pub text: String,
    /// What is measured, as opposed to what it is compared with.
    pub is_own: bool,
}

/// A curve: its name, and a figure for every place on the axis.
pub struct Curve {
    pub name: String,
    pub figures: Vec<f64>,
}

pub struct Page {
    html: String,
}

impl Page {
    pub fn new(title: &str, how: &str) -> Page {
        let title = escaped(title);
        let html = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n<p>{}</p>\n",
            escaped(how)
        );
        Page { html }
    }

    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.html, "<h2>{}</h2>", escaped(text));
    }

    /// Whether a goal is met.
    pub fn verdict(&mut self, goal: &str, result: &str, is_met: bool) {
        let class = verdict(is_met);
        let _ = writeln!(self.html, "<p>{}: <b class=\"{class}\">{}</b></p>", escaped(goal), escaped(result));
    }

    pub fn note(&mut self, text: &str) {
        let _ = writeln!(self.html, "<p>{}</p>", escaped(text));
    }

    pub fn table(&mut self, head: &[String], rows: &[Vec<String>]) {
        let line = |cells: &[String], tag: &str| {
            let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect::<String>();
            format!("<tr>{cells}</tr>\n")
        };
        let body = rows.iter().map(|row| line(row, "td")).collect::<String>();
        let _ = writeln!(self.html, "<table>\n{}{body}</table>", line(head, "th"));
    }

    pub fn bars(&mut self, bars: &[Bar]) {
        let most = bars.iter().map(|bar| bar.length).fold(f64::MIN_POSITIVE, f64::max);
        let height = bars.len() * BAR_STEP_PIXELS;
        let _ = writeln!(self.html, "<svg width=\"100%\" viewBox=\"0 0 860 {height}\" role=\"img\">");
        for (number, bar) in bars.iter().enumerate() {
            let (top, width) = (number * BAR_STEP_PIXELS, bar.length / most * BAR_PIXELS);
            let _ = writeln!(
                self.html,
                "<text x=\"200\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"{}\" x=\"208\" y=\"{}\" width=\"{width:.1}\" \
                 height=\"18\"/><text x=\"{:.1}\" y=\"{}\">{}</text>",
                top + 16,
                escaped(&bar.name),
                if bar.is_own { "own" } else { "other" },
                top + 3,
                214.0 + width,
                top + 16,
                escaped(&bar.text),
            );
        }
        self.html.push_str("</svg>\n");
    }

    /// Curves over places with names, on a logarithmic scale: microseconds at percentiles.
    pub fn curves(&mut self, places: &[&str], unit: &str, curves: &[Curve]) {
        let figures = || curves.iter().flat_map(|curve| &curve.figures).copied().filter(|&figure| figure > 0.0);
        let least = figures().fold(f64::INFINITY, f64::min);
        if !least.is_finite() {
            return;
        }
        let (low, high) = (least.log10().floor(), figures().fold(least, f64::max).log10().ceil());
        let high = high.max(low + 1.0);
        let (width, height) = CURVE_PIXELS;
        let across = |place: usize| CURVE_START.0 + width * (place as f64 + 0.5) / places.len() as f64;
        let up = |figure: f64| {
            let share = (figure.max(f64::MIN_POSITIVE).log10() - low) / (high - low);
            CURVE_START.1 + height * (1.0 - share.clamp(0.0, 1.0))
        };
        let _ = writeln!(self.html, "<svg width=\"100%\" viewBox=\"0 0 860 270\" role=\"img\">");
        for power in low as i32..=high as i32 {
            let (figure, y) = (10f64.powi(power), up(10f64.powi(power)));
            let _ = writeln!(
                self.html,
                "<line x1=\"{}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dde3e6\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{figure} {}</text>",
                CURVE_START.0,
                CURVE_START.0 + width,
                CURVE_START.0 - 6.0,
                y + 4.0,
                escaped(unit),
            );
        }
        for (place, name) in places.iter().enumerate() {
            let (x, y) = (across(place), CURVE_START.1 + height + 20.0);
            let _ = writeln!(
                self.html,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
                escaped(name)
            );
        }
        for (number, curve) in curves.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let points = curve.figures.iter().enumerate();
            let points: Vec<String> =
                points.map(|(place, &figure)| format!("{:.1},{:.1}", across(place), up(figure))).collect();
            let (x, y) = (CURVE_START.0 + width + 16.0, CURVE_START.1 + 12.0 + 18.0 * number as f64);
            let _ = writeln!(
                self.html,
                "<polyline stroke=\"{colour}\" points=\"{}\"/><text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{}</text>",
                points.join(" "),
                escaped(&curve.name),
            );
        }
        self.html.push_str("</svg>\n");
    }

    pub fn facts(&mut self, facts: &Facts) {
        self.html.push_str("<h2>Machine</h2>\n<ul>\n");
        for (name, value) in facts {
            let _ = writeln!(self.html, "<li>{}: {}</li>", escaped(name), escaped(value));
        }
        self.html.push_str("</ul>\n");
    }

    pub fn into_html(self) -> String {
        self.html
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_out_of_the_page_and_the_longest_bar_is_as_long_as_bars_are() {
        let mut page = Page::new("a < b", "\"how\" & why");
        let bar = |name: &str, length| Bar { name: name.into(), length, text: "<".into(), is_own: false };
        page.bars(&[bar("<script>", 2.0), bar("x", 1.0)]);
        let html = page.into_html();
        assert!(
            !html.contains("<script>") && html.contains("a &lt; b") && html.contains("&quot;how&quot; &amp; why")
        );
        assert!(html.contains("width=\"480.0\"") && html.contains("width=\"240.0\""), "{html}");
    }

    #[test]
    fn curves_stay_in_their_area_whatever_the_figures() {
        let mut page = Page::new("", "");
        page.curves(&["p50"], "us", &[Curve { name: "nothing".into(), figures: vec![0.0] }]);
        assert!(!page.html.contains("<polyline"));
        page.curves(&["p50", "p99"], "us", &[Curve { name: "one".into(), figures: vec![1.0, 1000.0] }]);
        assert!(page.html.contains("points=\"200.0,230.0 460.0,10.0\""), "{}", page.html);
    }
}
