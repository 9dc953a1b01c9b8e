//! Licence expressions as crates write them (SPDX, and the old slash).

/// Whether the allowed licences are enough for this expression. One that can't be read is not.
pub(crate) fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = Words { left: spaced.split_whitespace().collect(), allowed };
    words.left.reverse();
    words.any() == Some(true) && words.left.is_empty()
}

/// The words not yet read, the next one last.
struct Words<'a> {
    left: Vec<&'a str>,
    allowed: &'a [String],
}

impl Words<'_> {
    /// `a OR b OR c`: one is enough.
    fn any(&mut self) -> Option<bool> {
        let mut enough = self.all()?;
        while self.next_is("OR") {
            enough |= self.all()?;
        }
        Some(enough)
    }

    /// `a AND b`: both are needed. Binds stronger than `OR`.
    fn all(&mut self) -> Option<bool> {
        let mut enough = self.one()?;
        while self.next_is("AND") {
            enough &= self.one()?;
        }
        Some(enough)
    }

    /// A licence, with its exception if it has one, or something in parentheses.
    fn one(&mut self) -> Option<bool> {
        if self.next_is("(") {
            let enough = self.any()?;
            return self.next_is(")").then_some(enough);
        }
        let mut license = self.left.pop()?.to_owned();
        if self.next_is("WITH") {
            license = format!("{license} WITH {}", self.left.pop()?);
        }
        Some(self.allowed.contains(&license))
    }

    fn next_is(&mut self, word: &str) -> bool {
        let is = self.left.last() == Some(&word);
        if is {
            self.left.pop();
        }
        is
    }
}

#[cfg(test)]
mod tests {
    use super::is_allowed;

    fn allowed(expression: &str) -> bool {
        is_allowed(expression, &["MIT".to_owned(), "Apache-2.0".to_owned(), "Unicode-3.0".to_owned()])
    }

    #[test]
    fn one_licence_of_a_choice_is_enough() {
        assert!(allowed("MIT"));
        assert!(allowed("LGPL-2.1 OR MIT"));
        assert!(allowed("Unlicense/MIT"));
        assert!(!allowed("GPL-3.0-only"));
    }

    #[test]
    fn all_licences_of_a_sum_are_needed() {
        assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!allowed("(MIT OR Apache-2.0) AND GPL-3.0-only"));
        assert!(allowed("GPL-3.0-only AND Zlib OR MIT"));
    }

    #[test]
    fn an_exception_is_a_part_of_the_licence() {
        assert!(!allowed("Apache-2.0 WITH LLVM-exception"));
        assert!(allowed("Apache-2.0 WITH LLVM-exception OR MIT"));
    }

    #[test]
    fn what_can_not_be_read_is_not_allowed() {
        for broken in ["", "MIT OR", "(MIT", "MIT)", "MIT MIT"] {
            assert!(!allowed(broken), "{broken:?}");
        }
    }
}
