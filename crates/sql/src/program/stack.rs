//! How much of the thread's stack is left for stored programs that call each other: their frames are on it together.

use std::cell::Cell;

use shoal_types::{Error, ErrorCode, Result};

/// What a statement within the innermost program may need.
const RESERVE_BYTES: usize = 4 << 20;
/// Programs within each other on a thread that has not said how large its stack is: those have 2 MiB or more.
const UNKNOWN_DEPTH_MAX: usize = 8;
/// And on any other, however much is left.
const DEPTH_MAX: usize = 512;

thread_local! {
    /// Where the thread's stack begins, and how many bytes it has.
    static STACK: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// Said by a thread that will run statements, at its beginning: its stack has so many bytes.
pub fn note_stack(bytes: usize) {
    STACK.set(Some((here(), bytes)));
}

/// An address in the present frame; stacks grow downwards.
#[inline(never)]
fn here() -> usize {
    let place = 0u8;
    std::hint::black_box(std::ptr::from_ref(&place)).addr()
}

/// Before a program begins within `depth` others. Errors: 1436.
pub fn check_stack(depth: usize) -> Result<()> {
    let advice = "let stored programs call each other less deeply";
    let Some((begin, bytes)) = STACK.get() else {
        return match depth < UNKNOWN_DEPTH_MAX {
            true => Ok(()),
            false => {
                Err(overrun(format!("Thread stack overrun: {depth} stored programs within each other; {advice}")))
            }
        };
    };
    if depth >= DEPTH_MAX {
        let message = format!(
            "Thread stack overrun: {depth} stored programs within each other, which is the most; {advice}"
        );
        return Err(overrun(message));
    }
    let used = begin.saturating_sub(here());
    match used + RESERVE_BYTES <= bytes {
        true => Ok(()),
        false => Err(overrun(format!(
            "Thread stack overrun: {used} bytes used of a {bytes} byte stack, and {RESERVE_BYTES} bytes needed; {advice}"
        ))),
    }
}

fn overrun(message: String) -> Error {
    Error::new(ErrorCode::StackOverrunNeedMore, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes on until it is refused: how deep it came.
    fn descend(depth: usize) -> usize {
        let frame = std::hint::black_box([0u8; 64 << 10]);
        match check_stack(depth) {
            Ok(()) => descend(depth + 1) + usize::from(frame[depth % frame.len()]),
            Err(error) => {
                assert!(error.is(ErrorCode::StackOverrunNeedMore));
                depth
            }
        }
    }

    #[test]
    fn programs_are_refused_before_the_stack_is_used_up() {
        let deepest = |bytes: usize| {
            let builder = std::thread::Builder::new().stack_size(bytes);
            let thread = builder.spawn(move || {
                note_stack(bytes);
                descend(0)
            });
            thread.unwrap().join().unwrap()
        };
        let (few, many) = (deepest(8 << 20), deepest(16 << 20));
        assert!(0 < few && few < many && many < DEPTH_MAX, "{few}, {many}");
        assert_eq!(deepest(128 << 20), DEPTH_MAX);
    }
}
