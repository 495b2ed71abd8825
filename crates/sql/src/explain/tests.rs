use super::rows::ExplainRow;
use super::{json, values_of};
use shoal_types::{Json, Value};

fn row(id: u64, table: &str) -> ExplainRow {
    ExplainRow {
        id: Some(id),
        select_type: "PRIMARY".to_owned(),
        table: Some(table.to_owned()),
        partitions: Some("p0,p1".to_owned()),
        access: Some("ALL"),
        rows: Some(3),
        filtered: Some("100.00"),
        condition: Some("(`t`.`a` = '\"\\')".to_owned()),
        ..ExplainRow::default()
    }
}

#[test]
fn the_json_form_is_json_whatever_the_conditions_hold() {
    for rows in [vec![], vec![row(1, "t")], vec![row(1, "t"), row(1, "u"), row(2, "v")]] {
        let text = json::text(&rows);
        assert!(Json::parse(text.as_bytes()).is_ok(), "{text}");
    }
}

#[test]
fn a_row_has_the_twelve_columns() {
    let values = values_of(&row(1, "t"));
    assert_eq!(values.len(), 12);
    assert_eq!(values[3], Value::str("p0,p1"));
    assert_eq!(values[10].to_text(), b"100.00");
    assert_eq!(values[11], Value::Null);
}
