//! Windows in the words of EXPLAIN.

use shoal_expr::WindowKind;

use crate::plan::SortKey;
use crate::plan::windows::{Frame, FrameBound, Window, WindowStage, Windowing};

/// A window as FORMAT=JSON shows it.
#[derive(Clone, Debug, Default)]
pub struct WindowFacts {
    pub name: String,
    /// The keys of the sort before it; empty: it takes the rows as they come.
    pub sort_keys: Vec<String>,
    pub uses_frame_buffer: bool,
    pub functions: Vec<String>,
}

/// Each window in the order in which they are computed.
pub fn facts(windowing: &Windowing) -> Vec<WindowFacts> {
    let mut all = Vec::new();
    for stage in &windowing.stages {
        for (number, window) in stage.windows.iter().enumerate() {
            all.push(WindowFacts {
                name: window.title().to_owned(),
                sort_keys: if number == 0 { keys_text(windowing, &stage.keys) } else { Vec::new() },
                uses_frame_buffer: needs_buffer(window),
                functions: window.functions.iter().map(|call| call.function.name.to_owned()).collect(),
            });
        }
    }
    all
}

/// Lines of FORMAT=TREE, outermost first.
pub fn lines(windowing: &Windowing) -> Vec<String> {
    let mut lines = Vec::new();
    for stage in windowing.stages.iter().rev() {
        for window in stage.windows.iter().rev() {
            let functions = window.functions.iter();
            let functions: Vec<String> = functions
                .map(|call| format!("{} OVER {}", call.function, over(windowing, stage, window)))
                .collect();
            let buffering = if needs_buffer(window) { " with buffering" } else { "" };
            lines.push(format!("Window aggregate{buffering}: {}", functions.join(", ")));
        }
        if !stage.keys.is_empty() {
            lines.push(format!("Sort: {}", keys_text(windowing, &stage.keys).join(", ")));
        }
    }
    lines
}

/// Its functions need more than the rows so far.
fn needs_buffer(window: &Window) -> bool {
    window.functions.iter().any(|call| match call.function.kind {
        WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank => false,
        WindowKind::Aggregate(_) | WindowKind::FirstValue | WindowKind::LastValue => {
            let frame = &window.frame;
            let grows = frame.start == FrameBound::UnboundedPreceding && frame.end == FrameBound::CurrentRow;
            !(frame.by_rows && grows)
        }
        _ => true,
    })
}

fn keys_text(windowing: &Windowing, keys: &[SortKey]) -> Vec<String> {
    let text = |key: &SortKey| {
        let expression = windowing.inputs.get(key.position).map(ToString::to_string).unwrap_or_default();
        format!("{expression}{}", if key.descending { " DESC" } else { "" })
    };
    keys.iter().map(text).collect()
}

fn over(windowing: &Windowing, stage: &WindowStage, window: &Window) -> String {
    if let Some(name) = &window.name {
        return name.clone();
    }
    let (partition, order) = stage.keys[..window.peer_keys].split_at(window.partition_keys);
    let mut parts = Vec::new();
    for (words, keys) in [("PARTITION BY", partition), ("ORDER BY", order)] {
        if !keys.is_empty() {
            parts.push(format!("{words} {}", keys_text(windowing, keys).join(",")));
        }
    }
    parts.extend(frame_text(&window.frame));
    format!("({})", parts.join(" "))
}

/// `None`: the frame that a window has without one of its own.
fn frame_text(frame: &Frame) -> Option<String> {
    let is_default = !frame.by_rows
        && frame.start == FrameBound::UnboundedPreceding
        && matches!(frame.end, FrameBound::CurrentRow | FrameBound::UnboundedFollowing);
    let unit = if frame.by_rows { "ROWS" } else { "RANGE" };
    let bound = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
        FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
        FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
        FrameBound::Offset(offset) => {
            format!("{} {}", offset.amount, if offset.preceding { "PRECEDING" } else { "FOLLOWING" })
        }
    };
    (!is_default).then(|| format!("{unit} BETWEEN {} AND {}", bound(&frame.start), bound(&frame.end)))
}
