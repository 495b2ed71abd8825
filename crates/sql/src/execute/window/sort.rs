//! Sorting window rows.
//!
//! Each key's values become numbers that sort as they do: those of numbers and dates their own bits, less what they have in
//! common, those of texts and everything else the rank among the different values that there are. The numbers of all keys
//! together are one of 128 bits, mostly of 64 or fewer; only where that does not do are the rows looked at.

use std::cmp::Ordering;
use std::rc::Rc;

use shoal_expr::{append_group_key, compare};
use shoal_types::{Result, Value};

use super::rows::WindowRows;
use crate::execute::HashMap;
use crate::execute::memory::{Held, StatementMemory};
use crate::execute::sort::compare_rows;
use crate::execute::sort_in_turns::sort_in_turns;
use crate::plan::SortKey;
use crate::session::Interrupt;

/// A row in the sort. The halves of its number are apart, so that it is aligned as words are.
#[derive(Clone, Copy)]
struct LongPlace {
    number: [u64; 2],
    row: u32,
}

/// The same with a number of one word.
#[derive(Clone, Copy, Default)]
struct Place {
    number: u64,
    row: u32,
}

/// Of the number of all keys.
const NUMBER_BITS: u32 = 128;
/// What a row takes while it is sorted: its place, twice.
const PLACE_BYTES: usize = 2 * size_of::<LongPlace>();
/// What a different value takes while values are ranked, besides its key.
const RANKED_VALUE_BYTES: usize = 96;
/// Rows that are looked at between two looks at the interrupt.
const ROWS_PER_CHECK: usize = 4096;
/// Bits that one pass of a radix sort looks at: the buckets fit the nearest cache.
const DIGIT_BITS: u32 = 11;

/// Sorts the rows; those that compare equal stay in the order in which they lie.
///
/// # Errors
/// 1041, there is no memory for it; 1317.
pub async fn sort(
    rows: &mut WindowRows,
    keys: &[SortKey],
    memory: &Rc<StatementMemory>,
    interrupt: &Interrupt,
) -> Result<()> {
    if keys.is_empty() || rows.len() < 2 {
        return Ok(());
    }
    let mut held = Held::new(memory);
    held.add(rows.len() * PLACE_BYTES)?;
    let mut codes = Vec::with_capacity(keys.len());
    let mut bits = 0;
    for key in keys {
        let code = code_of(rows, key, &mut held, interrupt).await?;
        bits += code.width();
        codes.push(code);
        if bits >= NUMBER_BITS {
            break;
        }
    }
    let is_whole = bits <= NUMBER_BITS && codes.len() == keys.len();
    let order = match is_whole && bits <= u64::BITS {
        true => by_words(rows, keys, &codes, bits, interrupt).await?,
        false => by_long_numbers(rows, keys, &codes, is_whole, interrupt).await?,
    };
    drop(codes);
    match order {
        Some(order) => rows.permute(order, interrupt).await,
        None => Ok(()),
    }
}

/// The order of rows whose numbers are words, and all of their keys; `None`: they lie in it.
async fn by_words(
    rows: &WindowRows,
    keys: &[SortKey],
    codes: &[KeyCode],
    bits: u32,
    interrupt: &Interrupt,
) -> Result<Option<Vec<u32>>> {
    let mut places = Vec::with_capacity(rows.len());
    let mut is_sorted = true;
    let mut last = 0;
    for row in 0..rows.len() {
        if row.is_multiple_of(ROWS_PER_CHECK) {
            interrupt.check_between_batches().await?;
        }
        let number = (number_of(rows.row(row), row, keys, codes) >> (NUMBER_BITS - bits.max(1))) as u64;
        is_sorted &= last <= number;
        last = number;
        places.push(Place { number, row: row as u32 });
    }
    if is_sorted {
        return Ok(None);
    }
    match places.len() <= ROWS_PER_CHECK {
        true => places.sort_by_key(|place| place.number),
        false => radix_sort(&mut places, bits, interrupt).await?,
    }
    Ok(Some(places.into_iter().map(|place| place.row).collect()))
}

/// Sorts by the lowest `bits` of the numbers, a digit at a time, lowest first. Equal ones stay in order.
async fn radix_sort(places: &mut Vec<Place>, bits: u32, interrupt: &Interrupt) -> Result<()> {
    let mut from = std::mem::take(places);
    let mut to = vec![Place::default(); from.len()];
    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        let digit = |place: &Place| (place.number >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut next = [0usize; 1 << DIGIT_BITS];
        for part in from.chunks(ROWS_PER_CHECK) {
            part.iter().for_each(|place| next[digit(place)] += 1);
            interrupt.check_between_batches().await?;
        }
        let mut start = 0;
        for count in &mut next {
            start += std::mem::replace(count, start);
        }
        for part in from.chunks(ROWS_PER_CHECK) {
            for place in part {
                let target = &mut next[digit(place)];
                to[*target] = *place;
                *target += 1;
            }
            interrupt.check_between_batches().await?;
        }
        std::mem::swap(&mut from, &mut to);
    }
    *places = from;
    Ok(())
}

/// The order of rows whose numbers are long, or not all of their keys; `None`: they lie in it.
async fn by_long_numbers(
    rows: &WindowRows,
    keys: &[SortKey],
    codes: &[KeyCode],
    is_whole: bool,
    interrupt: &Interrupt,
) -> Result<Option<Vec<u32>>> {
    let mut places = Vec::with_capacity(rows.len());
    for row in 0..rows.len() {
        if row.is_multiple_of(ROWS_PER_CHECK) {
            interrupt.check_between_batches().await?;
        }
        let number = number_of(rows.row(row), row, keys, codes);
        places.push(LongPlace { number: [(number >> 64) as u64, number as u64], row: row as u32 });
    }
    let compare = |left: &LongPlace, right: &LongPlace| match left.number.cmp(&right.number) {
        Ordering::Equal if !is_whole => {
            compare_rows(rows.row(left.row as usize), rows.row(right.row as usize), keys)
        }
        ordering => ordering,
    };
    let mut is_sorted = true;
    for start in (0..places.len()).step_by(ROWS_PER_CHECK) {
        let end = places.len().min(start + ROWS_PER_CHECK + 1);
        is_sorted = is_sorted && places[start..end].is_sorted_by(|left, right| compare(left, right).is_le());
        interrupt.check_between_batches().await?;
    }
    if is_sorted {
        return Ok(None);
    }
    sort_in_turns(&mut places, compare, interrupt).await?;
    Ok(Some(places.into_iter().map(|place| place.row).collect()))
}

/// The numbers of a row's keys, first key highest; what does not fit is cut off.
fn number_of(row: &[Value], number: usize, keys: &[SortKey], codes: &[KeyCode]) -> u128 {
    let (mut all, mut free) = (0u128, NUMBER_BITS);
    for (key, code) in keys.iter().zip(codes) {
        let width = code.width();
        let mut bits = code.of(&row[key.position], number);
        if key.descending {
            bits = !bits & u64::MAX.checked_shr(u64::BITS - width).unwrap_or(0);
        }
        if width > free {
            return all | u128::from(bits >> (width - free));
        }
        free -= width;
        all |= u128::from(bits).checked_shl(free).unwrap_or(0);
    }
    all
}

/// How the values of a key become numbers.
enum KeyCode {
    /// By their own bits, less those of the least one; NULL is 0, and the least one 1 where there are NULLs.
    Bits { least: u64, has_null: bool, width: u32 },
    /// By their ranks, row by row.
    Ranks { ranks: Vec<u32>, width: u32 },
}

impl KeyCode {
    fn width(&self) -> u32 {
        match self {
            KeyCode::Bits { width, .. } | KeyCode::Ranks { width, .. } => *width,
        }
    }

    #[inline]
    fn of(&self, value: &Value, row: usize) -> u64 {
        match self {
            KeyCode::Bits { least, has_null, .. } => match ordered_bits(value) {
                Some(bits) => bits.wrapping_sub(*least) + u64::from(*has_null),
                None => 0,
            },
            KeyCode::Ranks { ranks, .. } => u64::from(ranks[row]),
        }
    }
}

fn width_of(most: u64) -> u32 {
    u64::BITS - most.leading_zeros()
}

async fn code_of(rows: &WindowRows, key: &SortKey, held: &mut Held, interrupt: &Interrupt) -> Result<KeyCode> {
    let (mut least, mut most, mut has_null) = (u64::MAX, 0, false);
    let mut kind = None;
    for row in 0..rows.len() {
        if row.is_multiple_of(ROWS_PER_CHECK) {
            interrupt.check_between_batches().await?;
        }
        let value = &rows.row(row)[key.position];
        match ordered_bits(value) {
            // Values of one kind are told apart by their bits, those of several are not.
            Some(bits) if *kind.get_or_insert_with(|| kind_of(value)) == kind_of(value) => {
                (least, most) = (least.min(bits), most.max(bits));
            }
            None if value.is_null() => has_null = true,
            _ => return ranks(rows, key, held, interrupt).await,
        }
    }
    let range = most.saturating_sub(least);
    if range == u64::MAX && has_null {
        return ranks(rows, key, held, interrupt).await;
    }
    Ok(KeyCode::Bits { least, has_null, width: width_of(range + u64::from(has_null)) })
}

/// Values of one kind sort as their bits do.
fn kind_of(value: &Value) -> (std::mem::Discriminant<Value>, u8) {
    let scale = if let Value::Decimal(number) = value { number.scale() } else { 0 };
    (std::mem::discriminant(value), scale)
}

/// The value as bits that sort as values of its kind do; `None`: NULL, or a value that has no such bits.
#[inline]
fn ordered_bits(value: &Value) -> Option<u64> {
    const SIGN: u64 = 1 << 63;
    let float = |float: f64| {
        // -0 equals 0.
        let bits = (float + 0.0).to_bits();
        if bits & SIGN == 0 { bits ^ SIGN } else { !bits }
    };
    match value {
        Value::Int(number) => Some(*number as u64 ^ SIGN),
        Value::UInt(number) => Some(*number),
        Value::Double(number) => Some(float(*number)),
        Value::Float(number) => Some(float(f64::from(*number))),
        Value::Decimal(number) => Some(i64::try_from(number.unscaled()?).ok()? as u64 ^ SIGN),
        Value::Date(date) => Some(u64::from(date.0)),
        Value::Time(time) => Some(time.micros as u64 ^ SIGN),
        Value::DateTime(datetime) => Some(datetime.packed),
        Value::Year(year) => Some(u64::from(*year)),
        Value::Enum(member) => Some(u64::from(member.index)),
        Value::Set(members) => Some(members.bits),
        _ => None,
    }
}

/// Ranks each row's value among the different ones.
async fn ranks(rows: &WindowRows, key: &SortKey, held: &mut Held, interrupt: &Interrupt) -> Result<KeyCode> {
    held.add(rows.len() * size_of::<u32>())?;
    let mut numbers: HashMap<Box<[u8]>, u32> = HashMap::default();
    // The first row with each value.
    let mut firsts: Vec<u32> = Vec::new();
    let mut ranks = Vec::with_capacity(rows.len());
    let mut bytes = Vec::new();
    let mut all_bytes = 0;
    for row in 0..rows.len() {
        if row.is_multiple_of(ROWS_PER_CHECK) {
            interrupt.check_between_batches().await?;
        }
        bytes.clear();
        append_group_key(&rows.row(row)[key.position], &key.sql_type, &mut bytes);
        let number = match numbers.get(bytes.as_slice()) {
            Some(number) => *number,
            None => {
                let value_bytes = bytes.len() + RANKED_VALUE_BYTES;
                held.add(value_bytes)?;
                all_bytes += value_bytes;
                numbers.insert(bytes.as_slice().into(), firsts.len() as u32);
                firsts.push(row as u32);
                firsts.len() as u32 - 1
            }
        };
        ranks.push(number);
    }
    drop(numbers);
    let value = |number: u32| &rows.row(firsts[number as usize] as usize)[key.position];
    let mut order: Vec<u32> = (0..firsts.len() as u32).collect();
    let by_value = |left: &u32, right: &u32| compare(value(*left), value(*right), &key.sql_type);
    sort_in_turns(&mut order, by_value, interrupt).await?;
    let mut rank_of = vec![0; firsts.len()];
    let mut rank = 0;
    for (place, &number) in order.iter().enumerate() {
        if place > 0 && by_value(&order[place - 1], &number).is_ne() {
            rank += 1;
        }
        rank_of[number as usize] = rank;
    }
    for number in &mut ranks {
        *number = rank_of[*number as usize];
    }
    held.give_back(all_bytes);
    Ok(KeyCode::Ranks { ranks, width: width_of(u64::from(rank)) })
}
