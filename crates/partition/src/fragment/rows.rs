//! Where the bytes of row versions lie: in pages that are cut into places of one size.
//!
//! An allocator that serves all of the process cannot move what it has given out: when nine rows of ten are deleted, the tenth
//! keeps its page, and no other table can use the rest. Here a page that has become sparse is given up: its rows are moved
//! to other pages ([`RowStore::begin_compaction`], then [`RowStore::relocate`] for every version that there is).
//!
//! Sizes of places rise in steps of an eighth at most. A page holds places of one size and is as large as an eighth of
//! what its size takes already: so what is not used yet stays small for small tables as for large ones, and large
//! tables have pages that the system gets back whole. Rows beyond [`SHARED_BYTES_MAX`] have a page each.
//!
//! Invariants: a free place's first four bytes lead to the next free place of its page; a page is listed as open if and only
//! if it has a free place and is not about to be given up.

const NONE: u32 = u32::MAX;
/// Longer rows do not share pages.
const SHARED_BYTES_MAX: usize = 32 << 10;
const PLACE_BYTES_MIN: usize = 16;
/// The largest page of places, which allocators give a mapping of its own.
const PAGE_BYTES_MAX: usize = 1 << 20;
/// A page has this part of the bytes that its size has already ...
const GROWTH_PART: usize = 8;
/// ... and so many places at least, if they are short.
const SHORT_BYTES: usize = 128;
const SHORT_PLACES_MIN: usize = 4;
/// Compaction is due when so much is free ...
const FREE_BYTES_MIN: u64 = 2 << 20;
/// ... and this part of what is used.
const FREE_PART: u64 = 8;
/// What pages have free takes this part of the places in use, on average.
const FREE_SHARE: usize = 12;
/// What pages that stay have free, at least, for the rows of those that go.
const KEPT_FREE_PART: usize = 32;

/// Where the bytes of one version lie; [`RowPlace::NONE`]: there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowPlace {
    page: u32,
    offset: u32,
    length: u32,
}

impl RowPlace {
    pub(crate) const NONE: RowPlace = RowPlace { page: NONE, offset: 0, length: 0 };

    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.page == NONE
    }

    /// Bytes of the row, 0 if there is none.
    #[inline]
    pub(crate) fn length(self) -> usize {
        self.length as usize
    }
}

struct Page {
    bytes: Box<[u8]>,
    /// Of the list of sizes.
    size: u32,
    live: u32,
    /// Where the places begin that were never used.
    fresh: u32,
    /// The first place that was used and is free.
    free: u32,
    /// Neighbours in the list of open pages.
    previous: u32,
    next: u32,
    open: bool,
    leaving: bool,
}

/// The pages with places of one size.
struct Size {
    place_bytes: usize,
    page_bytes: usize,
    open: u32,
}

#[derive(Default)]
pub(crate) struct RowStore {
    pages: Vec<Page>,
    /// Numbers of pages that are gone.
    vacant: Vec<u32>,
    sizes: Vec<Size>,
    page_bytes: u64,
    live_bytes: u64,
    leaving: u32,
}

/// What a row takes of a page.
pub(crate) fn place_bytes(length: usize) -> usize {
    if length > SHARED_BYTES_MAX {
        return length;
    }
    let length = length.max(PLACE_BYTES_MIN);
    // An eighth of the power of two below it, 8 bytes at least.
    let step = (length.next_power_of_two() / 16).max(8);
    length.next_multiple_of(step)
}

/// The same with its share of what pages have free.
pub(crate) fn paged_bytes(length: usize) -> u64 {
    let place = place_bytes(length);
    let free = if length > SHARED_BYTES_MAX { 0 } else { place / FREE_SHARE };
    (place + free) as u64
}

impl RowStore {
    #[inline]
    pub(crate) fn get(&self, place: RowPlace) -> Option<&[u8]> {
        if place.is_none() {
            return None;
        }
        let page = &self.pages[place.page as usize];
        Some(&page.bytes[place.offset as usize..][..place.length as usize])
    }

    /// Bytes of all pages.
    pub(crate) fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Bytes of all places in use.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// Bytes of the lists that lead to the pages.
    pub(crate) fn list_bytes(&self) -> usize {
        self.pages.capacity() * size_of::<Page>()
            + self.vacant.capacity() * 4
            + self.sizes.capacity() * size_of::<Size>()
    }

    /// Stores a row that is in memory of its own already.
    pub(crate) fn insert_box(&mut self, row: Box<[u8]>) -> RowPlace {
        if row.len() <= SHARED_BYTES_MAX {
            return self.insert(&row);
        }
        let length = row.len();
        self.live_bytes += length as u64;
        let page = self.add_page(row, NONE);
        self.pages[page as usize].live = 1;
        RowPlace { page, offset: 0, length: length as u32 }
    }

    pub(crate) fn insert(&mut self, row: &[u8]) -> RowPlace {
        if row.len() > SHARED_BYTES_MAX {
            return self.insert_box(row.into());
        }
        let place_bytes = place_bytes(row.len());
        let number = self.open_page(place_bytes);
        let page = &mut self.pages[number as usize];
        let offset = match page.free {
            NONE => {
                page.fresh += place_bytes as u32;
                page.fresh - place_bytes as u32
            }
            free => {
                page.free = read_link(&page.bytes, free);
                free
            }
        };
        page.bytes[offset as usize..][..row.len()].copy_from_slice(row);
        page.live += 1;
        self.live_bytes += place_bytes as u64;
        if page.free == NONE && page.fresh as usize + place_bytes > page.bytes.len() {
            self.close(number);
        }
        RowPlace { page: number, offset, length: row.len() as u32 }
    }

    pub(crate) fn remove(&mut self, place: RowPlace) {
        if place.is_none() {
            return;
        }
        let page = &mut self.pages[place.page as usize];
        page.live -= 1;
        let (live, open, leaving, size) = (page.live, page.open, page.leaving, page.size);
        self.live_bytes -= place_bytes(place.length as usize) as u64;
        if live == 0 {
            self.drop_page(place.page);
            return;
        }
        write_link(&mut page.bytes, place.offset, page.free);
        page.free = place.offset;
        if !open && !leaving && size != NONE {
            self.open(place.page);
        }
    }

    /// The number of a page with a free place of this size.
    fn open_page(&mut self, place_bytes: usize) -> u32 {
        let found = self.sizes.iter().position(|size| size.place_bytes == place_bytes);
        let size = found.unwrap_or_else(|| {
            self.sizes.push(Size { place_bytes, page_bytes: 0, open: NONE });
            self.sizes.len() - 1
        });
        if self.sizes[size].open != NONE {
            return self.sizes[size].open;
        }
        let wanted = (self.sizes[size].page_bytes / GROWTH_PART).min(PAGE_BYTES_MAX);
        let places_min = if place_bytes <= SHORT_BYTES { SHORT_PLACES_MIN } else { 1 };
        let places = (wanted / place_bytes).max(places_min);
        let number = self.add_page(vec![0; places * place_bytes].into(), size as u32);
        self.open(number);
        number
    }

    fn add_page(&mut self, bytes: Box<[u8]>, size: u32) -> u32 {
        self.page_bytes += bytes.len() as u64;
        if let Some(size) = self.sizes.get_mut(size as usize) {
            size.page_bytes += bytes.len();
        }
        let page = Page {
            bytes,
            size,
            live: 0,
            fresh: 0,
            free: NONE,
            previous: NONE,
            next: NONE,
            open: false,
            leaving: false,
        };
        match self.vacant.pop() {
            Some(number) => {
                self.pages[number as usize] = page;
                number
            }
            None => {
                self.pages.push(page);
                self.pages.len() as u32 - 1
            }
        }
    }

    fn drop_page(&mut self, number: u32) {
        self.close(number);
        let page = &mut self.pages[number as usize];
        let bytes = std::mem::take(&mut page.bytes);
        self.leaving -= u32::from(std::mem::take(&mut page.leaving));
        let size = page.size;
        self.page_bytes -= bytes.len() as u64;
        if let Some(size) = self.sizes.get_mut(size as usize) {
            size.page_bytes -= bytes.len();
        }
        self.vacant.push(number);
        if self.vacant.len() == self.pages.len() {
            *self = RowStore::default();
        }
    }

    fn open(&mut self, number: u32) {
        let page = &mut self.pages[number as usize];
        let size = &mut self.sizes[page.size as usize];
        (page.open, page.previous, page.next) = (true, NONE, size.open);
        let next = std::mem::replace(&mut size.open, number);
        if next != NONE {
            self.pages[next as usize].previous = number;
        }
    }

    fn close(&mut self, number: u32) {
        let page = &mut self.pages[number as usize];
        if !std::mem::take(&mut page.open) {
            return;
        }
        let (previous, next, size) = (page.previous, page.next, page.size);
        match previous {
            NONE => self.sizes[size as usize].open = next,
            previous => self.pages[previous as usize].next = next,
        }
        if next != NONE {
            self.pages[next as usize].previous = previous;
        }
    }

    // ---- compaction ----

    /// So much lies free in pages that it is worth moving rows.
    pub(crate) fn is_sparse(&self) -> bool {
        let free = self.page_bytes - self.live_bytes;
        free > FREE_BYTES_MIN.max(self.live_bytes / FREE_PART)
    }

    /// Chooses the pages that go, the emptiest of each size; false if there are none. Nothing is put into them any more, and
    /// they go when all their rows have moved.
    pub(crate) fn begin_compaction(&mut self) -> bool {
        for size in 0..self.sizes.len() as u32 {
            let mut pages: Vec<u32> = (0..self.pages.len() as u32)
                .filter(|&number| {
                    let page = &self.pages[number as usize];
                    page.size == size && page.live > 0 && !page.leaving
                })
                .collect();
            pages.sort_by_key(|&number| std::cmp::Reverse(self.pages[number as usize].live));
            let place_bytes = self.sizes[size as usize].place_bytes;
            let live: usize = pages.iter().map(|&number| self.pages[number as usize].live as usize).sum();
            let mut wanted = live + live / KEPT_FREE_PART + 1;
            for number in pages {
                if wanted > 0 {
                    wanted = wanted.saturating_sub(self.pages[number as usize].bytes.len() / place_bytes);
                    continue;
                }
                self.close(number);
                self.pages[number as usize].leaving = true;
                self.leaving += 1;
            }
        }
        self.leaving > 0
    }

    /// Pages that are still to go.
    pub(crate) fn is_compacting(&self) -> bool {
        self.leaving > 0
    }

    /// The version lies in a page that goes.
    #[inline]
    pub(crate) fn is_leaving(&self, place: RowPlace) -> bool {
        !place.is_none() && self.pages[place.page as usize].leaving
    }

    /// Moves a version to a page that stays.
    pub(crate) fn relocate(&mut self, place: RowPlace) -> RowPlace {
        let Some(row) = self.get(place).map(Box::<[u8]>::from) else { return place };
        let moved = self.insert_box(row);
        self.remove(place);
        moved
    }
}

fn read_link(bytes: &[u8], at: u32) -> u32 {
    let at = at as usize;
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn write_link(bytes: &mut [u8], at: u32, link: u32) {
    bytes[at as usize..][..4].copy_from_slice(&link.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u32, length: usize) -> Vec<u8> {
        (0..length).map(|at| (number as usize * 31 + at) as u8).collect()
    }

    #[test]
    fn places_are_at_most_an_eighth_larger_than_their_rows() {
        for length in 64..100_000 {
            let place = place_bytes(length);
            assert!(place >= length && place <= length + length / 8, "{place} for {length}");
        }
    }

    #[test]
    fn rows_keep_their_bytes_whatever_comes_and_goes() {
        let mut store = RowStore::default();
        let mut rows: Vec<(RowPlace, Vec<u8>)> = Vec::new();
        for number in 0..20_000u32 {
            let mixed = number.wrapping_mul(2_654_435_761);
            if mixed.is_multiple_of(3) && !rows.is_empty() {
                let (place, _) = rows.swap_remove(mixed as usize / 3 % rows.len());
                store.remove(place);
            }
            let bytes = row(number, mixed as usize % 300 + usize::from(number.is_multiple_of(4000)) * 40_000);
            rows.push((store.insert(&bytes), bytes));
        }
        assert!(rows.iter().all(|(place, bytes)| store.get(*place) == Some(bytes.as_slice())));
        let live: usize = rows.iter().map(|(place, _)| place_bytes(place.length as usize)).sum();
        assert_eq!(store.live_bytes(), live as u64);
        for (place, _) in rows {
            store.remove(place);
        }
        assert_eq!((store.page_bytes(), store.live_bytes(), store.list_bytes()), (0, 0, 0));
    }

    #[test]
    fn a_store_that_has_become_sparse_is_compacted_to_what_it_holds() {
        let mut store = RowStore::default();
        let mut rows: Vec<(RowPlace, Vec<u8>)> = (0..100_000u32)
            .map(|number| {
                let bytes = row(number, 200);
                (store.insert(&bytes), bytes)
            })
            .collect();
        assert!(!store.is_sparse());
        let full = store.page_bytes();
        assert!(full < 100_000 * 208 * 9 / 8, "{full}");
        for number in (0..rows.len()).filter(|number| number % 10 != 0) {
            store.remove(std::mem::replace(&mut rows[number].0, RowPlace::NONE));
        }
        assert!(store.is_sparse() && store.page_bytes() > full * 9 / 10);
        assert!(store.begin_compaction());
        for (place, bytes) in rows.iter_mut().filter(|(place, _)| !place.is_none()) {
            if store.is_leaving(*place) {
                *place = store.relocate(*place);
            }
            assert_eq!(store.get(*place), Some(bytes.as_slice()));
        }
        assert!(!store.is_compacting() && !store.is_sparse());
        assert!(store.page_bytes() < full / 10 * 13 / 10 + (1 << 20), "{} of {full}", store.page_bytes());
    }

    #[test]
    fn a_small_table_takes_little_more_than_its_rows() {
        let mut store = RowStore::default();
        for number in 0..10 {
            store.insert(&row(number, 100));
        }
        assert!(store.page_bytes() <= 12 * 104);
    }
}
