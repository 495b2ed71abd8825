//! optimizer_switch: flags of MySQL's optimizer, of which `use_invisible_indexes` means something here.

/// MySQL 8.4's flags as they are at first.
pub const DEFAULT: &str = "index_merge=on,index_merge_union=on,index_merge_sort_union=on,\
    index_merge_intersection=on,engine_condition_pushdown=on,index_condition_pushdown=on,mrr=on,mrr_cost_based=on,\
    block_nested_loop=on,batched_key_access=off,materialization=on,semijoin=on,loosescan=on,firstmatch=on,\
    duplicateweedout=on,subquery_materialization_cost_based=on,use_index_extensions=on,condition_fanout_filter=on,\
    derived_merge=on,use_invisible_indexes=off,skip_scan=on,hash_join=on,subquery_to_derived=off,\
    prefer_ordering_index=on,hypergraph_optimizer=off,derived_condition_pushdown=on,hash_set_operations=on";

fn flags(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(',').filter_map(|flag| flag.split_once('='))
}

/// A flag of a complete text is on.
pub fn is_on(text: &str, name: &str) -> bool {
    flags(text).any(|flag| flag == (name, "on"))
}

/// What SET makes of the present flags: `flag=on|off|default` for some of them, or `default` for all. `None`: it names no flag, or
/// one of them twice.
pub fn changed(present: &str, text: &str) -> Option<String> {
    let mut changed: Vec<(&str, &str)> = flags(present).collect();
    let mut named = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        if word.eq_ignore_ascii_case("default") {
            // Those that the text names besides keep what it says.
            for (flag, default) in changed.iter_mut().zip(flags(DEFAULT)) {
                if !named.contains(&flag.0) {
                    *flag = default;
                }
            }
            continue;
        }
        let (name, value) = word.split_once('=').map(|(name, value)| (name.trim(), value.trim()))?;
        let position = changed.iter().position(|(known, _)| known.eq_ignore_ascii_case(name))?;
        if named.contains(&changed[position].0) {
            return None;
        }
        named.push(changed[position].0);
        changed[position].1 = match value.to_ascii_lowercase().as_str() {
            "on" => "on",
            "off" => "off",
            "default" => flags(DEFAULT).nth(position)?.1,
            _ => return None,
        };
    }
    Some(changed.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_changes_the_flags_that_it_names() {
        let changed_once = changed(DEFAULT, "use_invisible_indexes=on, MRR = off").unwrap();
        assert!(is_on(&changed_once, "use_invisible_indexes") && !is_on(&changed_once, "mrr"));
        assert_eq!(flags(&changed_once).count(), flags(DEFAULT).count());
        assert_eq!(changed(&changed_once, "default").unwrap(), DEFAULT);
        let kept = changed(&changed_once, "mrr=off,default").unwrap();
        assert!(!is_on(&kept, "use_invisible_indexes") && !is_on(&kept, "mrr"));
        assert_eq!(changed(&changed_once, "mrr=default,use_invisible_indexes=default").unwrap(), DEFAULT);
        assert_eq!(changed(&changed_once, "").unwrap(), changed_once);
        for wrong in ["mrr", "mrr=yes", "nothing=on", "mrr=on,mrr=off"] {
            assert_eq!(changed(DEFAULT, wrong), None, "{wrong}");
        }
    }
}
