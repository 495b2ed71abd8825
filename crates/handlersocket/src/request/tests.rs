use proptest::prelude::*;

use super::*;

fn read(line: &[u8]) -> Outcome<(Head, Option<Operation>, Request)> {
    let mut tokens = Tokens::new(line);
    let head = Head::take(&mut tokens)?;
    let mut request = Request::default();
    let Head::OnIndex(_) = head else { return Ok((head, None, request)) };
    let operation = take_operation(&mut tokens)?;
    request.read(&mut tokens)?;
    Ok((head, Some(operation), request))
}

fn refusal(line: &[u8]) -> String {
    let mut out = Vec::new();
    read(line).unwrap_err().append(&mut out);
    String::from_utf8(out).unwrap().trim_end().replace('\t', " ")
}

#[test]
fn a_find_has_key_limit_and_offset() {
    let line = b"3\t>=\t2\tab\tcd\t10\t5";
    let (head, operation, request) = read(line).unwrap();
    assert_eq!((head, operation), (Head::OnIndex(3), Some(Operation::Find(Comparison::GreaterOrEqual))));
    assert_eq!(request.values.iter().map(|span| span.of(line)).collect::<Vec<_>>(), [b"ab", b"cd"]);
    assert_eq!((request.limit, request.offset), (10, 5));
}

#[test]
fn a_limit_that_is_missing_or_zero_is_one() {
    for line in [&b"0\t=\t1\ta"[..], b"0\t=\t1\ta\t0\t0", b"0\t=\t1\ta\t\t"] {
        let (_, _, request) = read(line).unwrap();
        assert_eq!((request.limit, request.offset), (1, 0));
        assert!(request.change.is_none());
    }
}

#[test]
fn a_list_filters_and_a_change_follow_one_another() {
    let line = b"1\t=\t1\t\t9\t0\t@\t0\t2\tx\ty\tF\t!=\t0\t7\tW\t<\t1\t\0\tU?\tnew\t\0";
    let (_, _, request) = read(line).unwrap();
    assert_eq!(request.list_part, Some(0));
    assert_eq!(request.list.iter().map(|span| span.of(line)).collect::<Vec<_>>(), [b"x", b"y"]);
    let [first, second] = request.filters[..] else { panic!("{:?}", request.filters) };
    assert_eq!((first.kind, first.comparison, first.column), (FilterKind::Skip, Comparison::NotEqual, 0));
    assert_eq!((second.kind, second.comparison, second.column), (FilterKind::Stop, Comparison::Less, 1));
    assert_eq!(second.value.of(line), b"\0");
    let change = request.change.unwrap().unwrap();
    assert_eq!((change.kind, change.returns_rows), (ChangeKind::Update, true));
    assert_eq!(request.change_values.iter().map(|span| span.of(line)).collect::<Vec<_>>(), [&b"new"[..], b"\0"]);
}

#[test]
fn what_is_wrong_is_said_with_the_words_of_the_protocol() {
    assert_eq!(refusal(b""), "2 1 cmd");
    assert_eq!(refusal(b"X"), "2 1 cmd");
    assert_eq!(refusal(b"Q"), "2 1 cmd");
    assert_eq!(refusal(b"99999999999\t="), "2 1 stmtnum");
    assert_eq!(refusal(b"1x\t="), "2 1 stmtnum");
    assert_eq!(refusal(b"1\t"), "2 1 op");
    assert_eq!(refusal(b"1\t=="), "2 1 op");
    assert_eq!(refusal(b"1\t=\t0"), "2 1 klen");
    assert_eq!(refusal(b"1\t=\t2\ta"), "2 1 klen");
    assert_eq!(refusal(b"1\t=\t4294967295\ta"), "2 1 klen");
    assert_eq!(refusal(b"1\t=\tx\ta"), "2 1 syntax");
    assert_eq!(refusal(b"1\t=\t1\ta\tmany"), "2 1 syntax");
    assert_eq!(refusal(b"1\t=\t1\ta\t1\t0\t@\t0\t0"), "2 1 invalueslen");
    assert_eq!(refusal(b"1\t=\t1\ta\t1\t0\t@\t0\t9\tx"), "2 1 invalueslen");
    assert_eq!(refusal(b"1\t=\t1\ta\t1\t0\tFX\t=\t0\t1"), "2 1 filtertype");
    assert_eq!(refusal(b"1\t=\t1\ta\t1\t0\tF\t=\tx\t1"), "2 1 filterfld");
    assert_eq!(refusal(b"1\t=\t1\ta\t1\t0\tF\t~\t0\t1"), "2 1 op");
}

#[test]
fn an_unknown_change_is_kept_until_it_is_known_whether_anything_may_change() {
    let (_, _, request) = read(b"1\t=\t1\ta\t1\t0\tX\tv").unwrap();
    assert!(matches!(request.change, Some(Err(Refusal::Request("modop")))));
}

#[test]
fn an_index_is_opened_by_names() {
    let mut tokens = Tokens::new(b"P\t7\tdb\tt\t\ta,b\tc");
    assert_eq!(Head::take(&mut tokens).unwrap(), Head::Open);
    let open = Open::read(&mut tokens).unwrap();
    assert_eq!((open.id, open.database, open.table, open.index), (7, &b"db"[..], &b"t"[..], &b""[..]));
    assert_eq!((open.columns, open.filter_columns), (&b"a,b"[..], &b"c"[..]));
    assert!(Open::read(&mut Tokens::new(b"x\tdb")).is_err());
}

proptest! {
    #[test]
    fn whatever_a_line_holds_it_is_read_or_refused(line in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&line);
        let _ = Open::read(&mut Tokens::new(&line));
    }

    #[test]
    fn a_line_out_of_the_words_of_requests_is_read_or_refused(
        words in proptest::collection::vec(
            prop_oneof![
                Just("1"), Just("2"), Just("0"), Just("="), Just(">="), Just("+"), Just("@"), Just("F"), Just("W"),
                Just("U"), Just("D?"), Just("-"), Just("\0"), Just(""), Just("4294967295"),
            ],
            0..24,
        )
    ) {
        let line = words.join("\t").into_bytes();
        if let Ok((_, _, request)) = read(&line) {
            let tokens = words.len();
            prop_assert!(request.values.len() + request.list.len() + request.change_values.len() <= tokens);
            prop_assert!(request.limit >= 1 || request.values.is_empty());
        }
    }
}
