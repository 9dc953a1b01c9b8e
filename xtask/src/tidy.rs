//! `cargo xtask tidy`: what no compiler checks. It is a test of this crate, too.

mod files;
mod links;
mod purity;
mod readme;
mod seam;
mod source;

use crate::{
    failure::{Failure, Result},
    workspace,
};

/// Says everything that is untidy.
pub(crate) fn run() -> Result {
    let complaints = complaints()?;
    complaints.iter().for_each(|complaint| println!("  {complaint}"));
    if complaints.is_empty() {
        println!("tidy");
        Ok(())
    } else {
        Err(Failure::new(format!("{} untidy places", complaints.len())))
    }
}

fn complaints() -> Result<Vec<String>> {
    let root = workspace::root();
    let texts = files::all(&root)?;
    let mut complaints = purity::dependencies()?;
    complaints.extend(readme::complaints(&root, &texts)?);
    for text in &texts {
        complaints.extend(source::complaints(text));
        complaints.extend(purity::complaints(text));
        complaints.extend(seam::complaints(text));
        complaints.extend(links::complaints(&root, text));
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_is_tidy() {
        let complaints = super::complaints().expect("every file can be read");
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}
