//! One line of the result: what was measured, what was aimed at, whether it was reached.

use std::fmt;

use serde::Serialize;

/// What a figure should be.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Aim {
    /// This much or more.
    AtLeast(f64),
    /// This much or less.
    AtMost(f64),
    /// Less than this.
    Below(f64),
}

impl Aim {
    fn is_reached_by(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(aim) => figure >= aim,
            Self::AtMost(aim) => figure <= aim,
            Self::Below(aim) => figure < aim,
        }
    }
}

impl fmt::Display for Aim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(aim) => write!(f, ">= {aim}"),
            Self::AtMost(aim) => write!(f, "<= {aim}"),
            Self::Below(aim) => write!(f, "< {aim}"),
        }
    }
}

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// What was measured.
    pub(crate) name: String,
    /// How much it was.
    pub(crate) figure: f64,
    /// What of.
    pub(crate) unit: &'static str,
    /// How much it should be.
    pub(crate) aim: Aim,
    /// The figures behind it.
    pub(crate) detail: String,
}

impl Row {
    /// Whether the aim was reached.
    pub(crate) fn is_ok(&self) -> bool {
        self.aim.is_reached_by(self.figure)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_ok() { "ok" } else { "MISSED" };
        let Self { name, figure, unit, aim, detail } = self;
        let figure = format!("{figure:.2} {unit}");
        write!(f, "{name:44} {figure:>12}  {:9} {verdict:7} {detail}", aim.to_string())
    }
}

/// The middle one of an odd number of figures, the upper middle one of an even number.
pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::{Aim, median};

    #[test]
    fn an_aim_is_reached_or_missed() {
        assert!(Aim::AtLeast(0.8).is_reached_by(0.8));
        assert!(!Aim::AtMost(1.5).is_reached_by(1.6));
        assert!(!Aim::Below(4.0).is_reached_by(4.0));
        assert!(!Aim::AtLeast(0.8).is_reached_by(f64::NAN), "nothing measured is nothing reached");
    }

    #[test]
    fn one_wild_round_does_not_move_the_median() {
        assert!((median([1.0, 900.0, 1.1]) - 1.1).abs() < 1e-9);
    }
}
