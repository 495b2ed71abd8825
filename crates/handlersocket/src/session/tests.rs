//! Whole batches of whatever bytes, on a node of their own: requests, requests that have been spoilt, and noise.
//!
//! The answers must be one line for each line, batch by batch, and no larger than a batch may be; the tables must be whole at the end.

use shoal_cluster::{Change, Node, NodeOptions, Table, unique_table_schema};
use shoal_types::schema::TableOptions;
use shoal_types::{
    BaseType, Collation, Column, Error, ErrorCode, Index, IndexId, IndexMethod, Result as EngineResult, SqlType,
    TableSchema, TimeZone, Value,
};

use super::*;
use crate::host::{Account, Rights};

/// Rows are small, so one answer is.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
const SEEDS: u64 = 60;
const LINES_PER_SEED: usize = 600;

/// Everything is allowed.
struct OpenHouse(Arc<Node>);

impl Host for OpenHouse {
    fn node(&self) -> &Arc<Node> {
        &self.0
    }

    fn rights(&self, _: &Account, _: bool, _: &str, _: &str) -> Rights {
        Rights { select: true, insert: true, update: true, delete: true }
    }

    fn refuses_writes(&self, _: &Account) -> bool {
        false
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings { zone: TimeZone::UTC, now_micros: || 1_700_000_000_000_000 }
    }

    fn expression_default(&self, _: &Arc<Table>, _: usize) -> EngineResult<Value> {
        Err(Error::new(ErrorCode::NotSupportedYet, "no expressions here"))
    }
}

/// `t (id INT PRIMARY KEY, k INT, v VARCHAR(40), KEY k (k))`.
fn schema(node: &Node) -> TableSchema {
    let column = |name: &str, sql_type, nullable| Column { nullable, ..Column::new(name, sql_type) };
    TableSchema {
        id: node.next_table_id(),
        version: 1,
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            column("id", SqlType::new(BaseType::Int), false),
            column("k", SqlType::new(BaseType::Int), true),
            column("v", SqlType::varchar(40, Collation::default()), true),
        ],
        indexes: vec![
            Index::new(IndexId(0), "PRIMARY", &[0], true, IndexMethod::BTree),
            Index::new(IndexId(1), "k", &[1], false, IndexMethod::BTree),
        ],
        partition_columns: vec![0],
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        past_rows: Vec::new(),
        options: TableOptions::new("NDB", Collation::default()),
    }
}

/// Yields numbers below a bound.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a [u8]]) -> &'a [u8] {
        of[self.below(of.len())]
    }
}

/// What requests are made of.
const WORDS: &[&[u8]] = &[
    b"0",
    b"1",
    b"2",
    b"3",
    b"10",
    b"4095",
    b"4096",
    b"4294967295",
    b"2147483647",
    b"-1",
    b"",
    b"\0",
    b"=",
    b">",
    b">=",
    b"<",
    b"<=",
    b"+",
    b"-",
    b"U",
    b"U?",
    b"D",
    b"D?",
    b"+?",
    b"@",
    b"F",
    b"W",
    b"!=",
    b"P",
    b"A",
    b"S",
    b"d",
    b"t",
    b"k",
    b"id,k,v",
    b"\x01\x49",
    b"\x01",
    b"\xff\xfe",
    b"\xf0\x9f\x90\x9f",
    b"x",
    b"PRIMARY",
];

const OPENED: &[&[u8]] =
    &[b"P\t0\td\tt\t\tid,k,v\tk,v", b"P\t1\td\tt\tk\tid,k\tid", b"P\t2\td\tt\t\tv\t", b"P\t3\td\tt\t\t\t"];

/// A request that makes sense.
fn request(random: &mut Random) -> Vec<u8> {
    let mut number = |bound: usize| random.below(bound).to_string();
    let (id, k, limit) = (number(40), number(8), number(50));
    let text = match number(14).as_str() {
        "0" | "1" => format!("0\t+\t3\t{id}\t{k}\tvalue {id}"),
        "2" => format!("0\t=\t1\t{id}"),
        "3" => format!("1\t=\t1\t{k}\t{limit}\t0"),
        "4" => format!("0\t>=\t1\t{id}\t{limit}\t{k}\tF\t>\t0\t{k}\tW\t!=\t1\tx"),
        "5" => format!("0\t=\t1\t\t{limit}\t0\t@\t0\t3\t{id}\t{k}\t39"),
        "6" => format!("0\t=\t1\t{id}\t1\t0\tU\t{id}\t{k}\tchanged"),
        "7" => format!("1\t=\t1\t{k}\t{limit}\t0\tD?"),
        "8" => format!("1\t<=\t1\t{k}\t{limit}\t0\t+\t0\t1"),
        "9" => format!("0\t=\t1\t{id}\t1\t0\t-?\t0\t1\t0"),
        "10" => format!("2\t=\t1\t{id}"),
        "11" => "1\t>\t1\t\0\t2147483647\t0".to_owned(),
        _ => return random.one(OPENED).to_vec(),
    };
    text.into_bytes()
}

/// A line: a request, one with something changed in it, words in any order, or bytes.
fn line(random: &mut Random) -> Vec<u8> {
    let mut line = match random.below(10) {
        0..=3 => request(random),
        4..=6 => {
            let mut line = request(random);
            for _ in 0..=random.below(3) {
                spoil(&mut line, random);
            }
            line
        }
        7 | 8 => (0..random.below(14)).map(|_| random.one(WORDS)).collect::<Vec<_>>().join(&b'\t'),
        _ => (0..random.below(200)).map(|_| random.below(256) as u8).collect(),
    };
    line.retain(|&byte| byte != b'\n');
    line.extend_from_slice(if random.below(4) == 0 { b"\r\n" } else { b"\n" });
    line
}

fn spoil(line: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(line.len() + 1);
    match random.below(6) {
        0 => line.truncate(at),
        1 => line.insert(at, random.below(256) as u8),
        2 if at < line.len() => drop(line.remove(at)),
        3 if at < line.len() => line[at] = random.below(256) as u8,
        4 => drop(line.splice(at..at, random.one(WORDS).iter().copied())),
        _ => {
            // Another token in the place of one.
            let mut tokens: Vec<&[u8]> = line.split(|&byte| byte == b'\t').collect();
            let place = random.below(tokens.len());
            tokens[place] = random.one(WORDS);
            *line = tokens.join(&b'\t');
        }
    }
}

fn lines_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

/// Runs batches as a connection does, with a window on the input that grows by so much. Yields how many lines were no errors.
async fn run(session: &mut Session, input: &[u8], window: usize) -> usize {
    let (mut consumed, mut shown, mut done_well) = (0, 0, 0);
    let mut out = Vec::new();
    while shown < input.len() || lines_in(&input[consumed..shown]) > 0 {
        shown = (shown + window).min(input.len());
        out.clear();
        let end = session.run_batch(&input[consumed..shown], &mut out).await;
        assert_eq!(end.then, Then::GoOn);
        let done = &input[consumed..consumed + end.consumed];
        assert!(done.is_empty() || done.ends_with(b"\n"));
        assert_eq!(lines_in(&out), lines_in(done), "{:?} to {:?}", out.escape_ascii(), done.escape_ascii());
        assert!(out.len() <= BATCH_ANSWER_BYTES + ANSWER_BYTES_MAX, "{} bytes", out.len());
        assert!(out.split(|&byte| byte == b'\n').all(|line| matches!(line, [] | [b'0'..=b'3', b'\t', ..])));
        assert!(end.consumed > 0 || lines_in(&input[consumed..shown]) == 0, "nothing is done");
        done_well += out.split(|&byte| byte == b'\n').filter(|line| line.starts_with(b"0\t")).count();
        consumed += end.consumed;
    }
    assert_eq!(consumed, input.len());
    done_well
}

/// The table as both of its indexes show it.
async fn assert_indexes_agree(session: &mut Session) {
    let mut all = Vec::new();
    session.run_batch(b"P\t9\td\tt\t\tid\nP\t10\td\tt\tk\tid\n", &mut all).await;
    assert_eq!(all, b"0\t1\n0\t1\n");
    let mut seen = async |request: &[u8]| {
        let mut out = Vec::new();
        session.run_batch(request, &mut out).await;
        let text = String::from_utf8(out).unwrap();
        let mut ids: Vec<i64> = text.trim_end().split('\t').skip(2).map(|id| id.parse().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    let by_key = seen(b"9\t>=\t1\t-2147483648\t2147483647\t0\n").await;
    let with_null = seen(b"10\t>=\t1\t\0\t2147483647\t0\n").await;
    assert_eq!(by_key, with_null);
}

async fn node_with(directory: &std::path::Path, tables: impl Fn(&Node) -> Vec<TableSchema>) -> Arc<Node> {
    let node = Node::open(NodeOptions {
        partitions: Some(4),
        data_memory: Some(1 << 28),
        background_work: false,
        on_fatal: Arc::new(|reason| panic!("the node stopped: {reason}")),
        ..NodeOptions::new(directory)
    })
    .unwrap();
    let mut changes = vec![Change::PutDatabase { name: "d".into(), collation: Collation::default() }];
    changes.extend(tables(&node).into_iter().map(Change::PutTable));
    node.change(changes).await.unwrap();
    node
}

fn session(node: &Arc<Node>) -> Session {
    let port = Arc::new(Port {
        address: "127.0.0.1:0".parse().unwrap(),
        may_write: true,
        secret: Vec::new(),
        account: Account::parse("root@localhost"),
    });
    let host = Arc::new(OpenHouse(Arc::clone(node)));
    Session::new(host, port, Arc::default(), std::time::Duration::from_secs(1))
}

#[tokio::test]
async fn whatever_lines_hold_each_has_an_answer_of_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let node = node_with(directory.path(), |node| vec![schema(node)]).await;
    for seed in 1..=SEEDS {
        println!("seed {seed}");
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut session = session(&node);
        let mut input = OPENED.join(&b'\n');
        input.push(b'\n');
        input.extend((0..LINES_PER_SEED).flat_map(|_| line(&mut random)).collect::<Vec<u8>>());
        let window = 1 + random.below(4000);
        let done_well = run(&mut session, &input, window).await;
        assert!((LINES_PER_SEED / 4..LINES_PER_SEED).contains(&done_well), "{done_well} lines were no errors");
        assert_indexes_agree(&mut session).await;
    }
}

/// The rows of a run gave up their keys of unique indexes before any of them took its new one.
#[tokio::test]
async fn a_line_is_refused_a_unique_key_that_a_later_line_of_the_batch_gives_up() {
    let directory = tempfile::tempdir().unwrap();
    let unique_k = |node: &Node| {
        let mut base = schema(node);
        let hidden = node.next_table_id();
        (base.indexes[1].unique, base.indexes[1].unique_table) = (true, Some(hidden));
        vec![unique_table_schema(&base, &base.indexes[1], hidden), base]
    };
    let node = node_with(directory.path(), unique_k).await;
    let mut session = session(&node);
    let mut answers = async |input: &str| {
        let mut out = Vec::new();
        assert_eq!(session.run_batch(input.as_bytes(), &mut out).await.consumed, input.len());
        String::from_utf8(out).unwrap()
    };
    assert_eq!(answers("P\t0\td\tt\t\tid,k\nP\t1\td\tt\t\tk\n").await, "0\t1\n0\t1\n");
    assert_eq!(answers("0\t+\t2\t1\t10\n0\t+\t2\t2\t20\n").await, "0\t1\n0\t1\n");
    let moved = answers("1\t=\t1\t1\t1\t0\tU\t20\n1\t=\t1\t2\t1\t0\tU\t30\n").await;
    assert_eq!(moved, "1\t1\t121\n0\t1\t1\n");
    assert_eq!(answers("1\t=\t1\t1\n1\t=\t1\t2\n").await, "0\t1\t10\n0\t1\t30\n");
}
