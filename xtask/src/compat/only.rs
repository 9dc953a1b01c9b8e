//! The choice of cases, as the regular expression that the kit's programs take after `--only`.

/// An expression that finds these names and no other.
pub(crate) fn exactly<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(escaped).collect();
    format!("^(?:{})$", names.join("|"))
}

/// A name whose every character stands for itself.
fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for letter in name.chars() {
        if !(letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '/')) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::exactly;

    #[test]
    fn a_name_stands_for_itself_and_for_the_whole() {
        assert_eq!(exactly(["rpc/jsonrpc-1.0", "a_b"]), r"^(?:rpc/jsonrpc-1\.0|a_b)$");
    }
}
