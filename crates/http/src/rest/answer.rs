//! Answers: rows as text, without holding up the thread that serves everybody, and within the memory that all answers have together.
//!
//! A few rows are text in microseconds. What is larger becomes text on another thread: `/metrics` and other requests do not wait for it. Its
//! memory is taken from a common budget before, and given back when the client has read the answer.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Bytes;
use shoal_client::Row;
use shoal_types::{Error, ErrorCode, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use super::resolve::Step;
use super::value::{append, append_string};

const ANSWER_BYTES_MAX: usize = 16 << 20;
/// All answers together, while they are made and until they are sent.
pub const ANSWERS_BYTES_MAX: usize = 256 << 20;
/// What fits into this is made text where it is: that takes a fraction of a millisecond.
const BYTES_ON_THIS_THREAD_MAX: usize = 64 << 10;
const UNIT_BYTES: usize = 1024;

const _: () = assert!(ANSWERS_BYTES_MAX >= 4 * ANSWER_BYTES_MAX, "one request leaves room for others");

/// What an operation has yielded: members of its answer's body. `None`: there is no such row.
pub type Done = Option<String>;

/// The memory of all answers.
pub struct AnswerMemory(Arc<Semaphore>);

impl Default for AnswerMemory {
    fn default() -> AnswerMemory {
        AnswerMemory(Arc::new(Semaphore::new(ANSWERS_BYTES_MAX / UNIT_BYTES)))
    }
}

impl AnswerMemory {
    /// For one answer, which has nothing yet.
    pub fn begin(&self) -> AnswerRoom {
        AnswerRoom { memory: Arc::clone(&self.0), held: None, bytes: 0, units: 0 }
    }
}

/// The part of one answer.
pub struct AnswerRoom {
    memory: Arc<Semaphore>,
    held: Option<OwnedSemaphorePermit>,
    bytes: usize,
    units: usize,
}

impl AnswerRoom {
    /// Makes room for a text of so many bytes, which is there twice while it is put into the answer.
    ///
    /// # Errors
    /// 1153: the answer is too large. 1297: others have the memory just now.
    fn grow(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        if self.bytes > ANSWER_BYTES_MAX {
            let text = format!("The answer has more than {ANSWER_BYTES_MAX} bytes; read fewer rows at a time");
            return Err(Error::new(ErrorCode::NetPacketTooLarge, text));
        }
        let missing = (2 * self.bytes).div_ceil(UNIT_BYTES) - self.units;
        let taken = Arc::clone(&self.memory).try_acquire_many_owned(missing as u32).map_err(|_| {
            let text = "answers to other requests take the memory that there is for them; try again";
            Error::new(ErrorCode::GetTemporaryErrmsg, text)
        })?;
        self.units += missing;
        match &mut self.held {
            Some(held) => held.merge(taken),
            held => *held = Some(taken),
        }
        Ok(())
    }

    fn is_large(&self) -> bool {
        self.bytes > BYTES_ON_THIS_THREAD_MAX
    }
}

/// The texts of rows, each of which was read by the step at its position.
///
/// # Errors
/// Those of [`AnswerRoom::grow`]; 1054: the table was changed meanwhile. With the position of the step, if it is one's.
pub async fn texts(
    rows: Vec<(usize, Row)>,
    steps: &[Step],
    room: &mut AnswerRoom,
) -> Result<Vec<(usize, String)>, (Option<usize>, Error)> {
    let bytes: usize = rows.iter().map(|(_, row)| row.size_bytes()).sum();
    // Before the texts are there. Most are larger than their rows, and make room for the rest when their size is known.
    room.grow(bytes).map_err(|error| (None, error))?;
    let texts = if bytes <= BYTES_ON_THIS_THREAD_MAX {
        let text = |(position, row): (usize, Row)| (position, data(&row, &steps[position].columns));
        rows.into_iter().map(text).collect::<Vec<_>>()
    } else {
        let rows: Vec<(usize, Row, Vec<String>)> =
            rows.into_iter().map(|(position, row)| (position, row, steps[position].columns.clone())).collect();
        let text = |(position, row, columns): (usize, Row, Vec<String>)| (position, data(&row, &columns));
        let made = spawn_blocking(move || rows.into_iter().map(text).collect::<Vec<_>>()).await;
        made.map_err(|_| (None, Error::unknown("internal: rows could not be made text; see the server's log")))?
    };
    let mut done = Vec::with_capacity(texts.len());
    for (position, text) in texts {
        done.push((position, text.map_err(|error| (Some(position), error))?));
    }
    let text_bytes: usize = done.iter().map(|(_, text)| text.len()).sum();
    room.grow(text_bytes.saturating_sub(bytes)).map_err(|error| (None, error))?;
    Ok(done)
}

/// `"data": {...}`: the columns of a row that were asked for.
fn data(row: &Row, columns: &[String]) -> Result<String> {
    let (names, types) = (row.names(), row.shape().types());
    let mut out = String::from("\"data\":{");
    for (position, column) in columns.iter().enumerate() {
        // The table may have been defined anew since the names were looked up.
        let found = names.iter().position(|name| name.eq_ignore_ascii_case(column)).ok_or_else(|| {
            Error::new(ErrorCode::BadField, format!("Unknown column '{column}': the table was just changed"))
        })?;
        if position > 0 {
            out.push(',');
        }
        append_string(column, &mut out);
        out.push(':');
        append(&row.value(found).unwrap_or_default(), &types[found], &mut out);
    }
    out.push('}');
    Ok(out)
}

/// The whole of an answer. Its memory is given back with it.
///
/// # Errors
/// None that the machine does not have.
pub async fn whole(steps: Vec<Step>, done: Vec<Done>, is_batch: bool, room: AnswerRoom) -> Result<Bytes> {
    let make = move || if is_batch { of_batch(&steps, done) } else { of_one(&steps, done) };
    let text = if room.is_large() {
        let made = spawn_blocking(make).await;
        made.map_err(|_| Error::unknown("internal: the answer could not be made; see the server's log"))?
    } else {
        make()
    };
    Ok(Bytes::from_owner(Answer { text, _room: room }))
}

/// A text, and its memory as long as there is the text.
struct Answer {
    text: String,
    _room: AnswerRoom,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// Of a request for one row.
fn of_one(steps: &[Step], done: Vec<Done>) -> String {
    let mut out = String::new();
    if let (Some(step), Some(done)) = (steps.first(), done.into_iter().next()) {
        append_body(step, done.as_deref(), &mut out);
    }
    out.push('\n');
    out
}

/// A list in the order of the operations, each with a status of its own.
fn of_batch(steps: &[Step], done: Vec<Done>) -> String {
    let mut out = String::from("[");
    for (number, (step, done)) in steps.iter().zip(done).enumerate() {
        let status = if done.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
        let comma = if number == 0 { "" } else { "," };
        out.push_str(&format!("{comma}{{\"code\":{},\"body\":", status.as_u16()));
        append_body(step, done.as_deref(), &mut out);
        out.push('}');
    }
    out.push_str("]\n");
    out
}

fn append_body(step: &Step, members: Option<&str>, out: &mut String) {
    out.push('{');
    if let Some(id) = &step.id {
        out.push_str("\"operationId\":");
        append_string(id, out);
    }
    if let Some(members) = members.filter(|members| !members.is_empty()) {
        if step.id.is_some() {
            out.push(',');
        }
        out.push_str(members);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_share_their_memory_and_give_it_back() {
        let memory = AnswerMemory::default();
        let mut rooms: Vec<AnswerRoom> = Vec::new();
        let refused = loop {
            let mut room = memory.begin();
            match room.grow(100).and_then(|()| room.grow(ANSWER_BYTES_MAX - 100)) {
                Ok(()) => rooms.push(room),
                Err(error) => break error,
            }
        };
        assert_eq!((refused.errno(), rooms.len()), (1297, ANSWERS_BYTES_MAX / ANSWER_BYTES_MAX / 2));
        assert_eq!(rooms[0].grow(1).unwrap_err().errno(), 1153);
        let answer = Bytes::from_owner(Answer { text: "x".into(), _room: rooms.pop().unwrap() });
        assert!(memory.begin().grow(ANSWER_BYTES_MAX).is_err());
        drop(answer);
        memory.begin().grow(ANSWER_BYTES_MAX).unwrap();
    }
}
