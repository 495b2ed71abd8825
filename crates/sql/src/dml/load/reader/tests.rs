use super::*;

fn csv() -> FieldFormat {
    FieldFormat {
        terminated_by: Some(b",".to_vec()),
        enclosed_by: Some(b"\"".to_vec()),
        optionally_enclosed: true,
        escaped_by: None,
    }
}

/// The rows of a text that comes in pieces of `piece` bytes; NULL is shown as `NULL`, fields in brackets.
fn rows_in_pieces(text: &[u8], fields: &FieldFormat, lines: &LineFormat, skip: u64, piece: usize) -> Vec<String> {
    let mut reader = RowReader::new(Format::of(fields, lines).unwrap(), skip, 1 << 20);
    let mut rows = Vec::new();
    let mut take = |reader: &mut RowReader| {
        while let Some(row) = reader.next_row().unwrap() {
            let fields = row.into_iter().map(|field| match field {
                Some(bytes) => format!("[{}]", String::from_utf8_lossy(&bytes)),
                None => "NULL".to_owned(),
            });
            rows.push(fields.collect::<String>());
        }
    };
    for part in text.chunks(piece) {
        reader.push(part);
        take(&mut reader);
    }
    reader.end();
    take(&mut reader);
    rows
}

/// The same whatever the pieces.
fn rows(text: &str, fields: &FieldFormat, lines: &LineFormat, skip: u64) -> Vec<String> {
    let whole = rows_in_pieces(text.as_bytes(), fields, lines, skip, text.len().max(1));
    for piece in 1..8 {
        assert_eq!(rows_in_pieces(text.as_bytes(), fields, lines, skip, piece), whole, "pieces of {piece}");
    }
    whole
}

fn lines(end: &str) -> LineFormat {
    LineFormat { starting_by: None, terminated_by: Some(end.as_bytes().to_vec()) }
}

#[test]
fn the_default_format_is_tabs_and_backslashes() {
    let fields = FieldFormat::default();
    assert_eq!(rows("1\ta\n2\tb\n", &fields, &LineFormat::default(), 0), ["[1][a]", "[2][b]"]);
    assert_eq!(rows("1\t\\N\n", &fields, &LineFormat::default(), 0), ["[1]NULL"]);
    assert_eq!(rows("a\\tb\\\nc\\\\\t\\Nx", &fields, &LineFormat::default(), 0), ["[a\tb\nc\\][Nx]"]);
    // The word NULL means NULL only where quotes could tell it from a text.
    assert_eq!(rows("NULL\n", &fields, &LineFormat::default(), 0), ["[NULL]"]);
}

#[test]
fn the_last_line_may_lack_its_end() {
    let fields = FieldFormat::default();
    assert_eq!(rows("1\t2", &fields, &LineFormat::default(), 0), ["[1][2]"]);
    assert_eq!(rows("1\t", &fields, &LineFormat::default(), 0), ["[1][]"]);
    assert_eq!(rows("", &fields, &LineFormat::default(), 0), Vec::<String>::new());
    assert_eq!(rows("\n", &fields, &LineFormat::default(), 0), ["[]"]);
    assert_eq!(rows("a\\", &fields, &LineFormat::default(), 0), ["[a\\]"]);
}

#[test]
fn quotes_hide_separators_and_are_doubled_inside() {
    let text = "1,\"a,b\",\"say \"\"hi\"\"\"\n2,\"line\nbreak\",NULL\n3,\"NULL\",\\N\n";
    assert_eq!(
        rows(text, &csv(), &lines("\n"), 0),
        ["[1][a,b][say \"hi\"]", "[2][line\nbreak]NULL", "[3][NULL]NULL"]
    );
}

#[test]
fn a_quote_in_the_middle_of_a_field_is_a_character() {
    assert_eq!(rows("a\"b,\"c\"d\",e\n", &csv(), &lines("\n"), 0), ["[a\"b][c\"d][e]"]);
    assert_eq!(rows("\"open,1\n", &csv(), &lines("\n"), 0), ["[\"open,1\n]"]);
}

#[test]
fn separators_may_have_several_bytes() {
    let fields = FieldFormat { terminated_by: Some(b"||".to_vec()), ..FieldFormat::default() };
    assert_eq!(rows("a|b||c\r\nd||e\r\n", &fields, &lines("\r\n"), 0), ["[a|b][c]", "[d][e]"]);
    assert_eq!(rows("a\rb||c\r\n", &fields, &lines("\r\n"), 0), ["[a\rb][c]"]);
}

#[test]
fn lines_are_skipped_and_what_does_not_start_as_it_should_is_ignored() {
    assert_eq!(rows("id,name\n1,x\n", &csv(), &lines("\n"), 1), ["[1][x]"]);
    assert_eq!(rows("id\n", &csv(), &lines("\n"), 5), Vec::<String>::new());
    let starting = LineFormat { starting_by: Some(b"xxx".to_vec()), terminated_by: None };
    let fields = FieldFormat { terminated_by: Some(b",".to_vec()), ..FieldFormat::default() };
    assert_eq!(rows("xxx1,2\nsomething xxx3,4\nrest", &fields, &starting, 0), ["[1][2]", "[3][4]"]);
}

#[test]
fn without_an_escape_backslashes_are_ordinary() {
    let fields = FieldFormat { escaped_by: Some(Vec::new()), ..csv() };
    assert_eq!(rows("c:\\new,\\N\n", &fields, &lines("\n"), 0), ["[c:\\new][\\N]"]);
}

#[test]
fn a_quote_that_is_also_the_escape_is_doubled_inside_quotes() {
    let fields = FieldFormat { escaped_by: Some(b"\"".to_vec()), ..csv() };
    assert_eq!(rows("\"a\"\"b\",\"c\"\n1,2\n", &fields, &lines("\n"), 0), ["[a\"b][c]", "[1][2]"]);
}

#[test]
fn formats_without_a_meaning_are_refused() {
    let long = FieldFormat { enclosed_by: Some(b"''".to_vec()), ..FieldFormat::default() };
    assert_eq!(Format::of(&long, &LineFormat::default()).unwrap_err().errno(), 1083);
    let fixed = FieldFormat { terminated_by: Some(Vec::new()), ..FieldFormat::default() };
    assert_eq!(Format::of(&fixed, &LineFormat::default()).unwrap_err().errno(), 1235);
}

#[test]
fn a_row_without_end_is_refused_before_it_fills_the_memory() {
    let format = Format::of(&FieldFormat::default(), &LineFormat::default()).unwrap();
    let mut reader = RowReader::new(format, 0, 1000);
    let error = loop {
        reader.push(&[b'x'; 100]);
        match reader.next_row() {
            Ok(row) => assert_eq!(row, None),
            Err(error) => break error,
        }
    };
    assert_eq!(error.errno(), 1153);
}
