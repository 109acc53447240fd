//! Cohen's κ: how far two raters agree beyond what chance alone would give (Cohen 1960).

use super::StatsError;

/// How two raters of the same items agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Items that both rated.
    pub items: usize,
    /// The share on which they say the same.
    pub raw: f64,
    /// (raw − chance) / (1 − chance); `None` where chance alone agrees always, since both said one and the same
    /// of everything.
    pub kappa: Option<f64>,
}

/// The agreement of pairs of yes and no.
///
/// ```
/// use memwarden_lab::stats::kappa;
/// let same = kappa(&[(true, true), (false, false)])?;
/// assert_eq!((same.raw, same.kappa), (1.0, Some(1.0)));
/// // Nine of ten agree, but so would two raters who always say yes.
/// let mut skewed = vec![(true, true); 9];
/// skewed.push((true, false));
/// assert_eq!(kappa(&skewed)?.kappa, Some(0.0));
/// # Ok::<(), memwarden_lab::stats::StatsError>(())
/// ```
///
/// # Errors
/// No items.
#[expect(clippy::cast_precision_loss, reason = "items are far below 2^52")]
pub fn kappa(pairs: &[(bool, bool)]) -> Result<Agreement, StatsError> {
    if pairs.is_empty() {
        return Err(StatsError::Empty {
            what: "κ",
            item: "item that both rated",
        });
    }
    let share =
        |which: fn(&&(bool, bool)) -> bool| pairs.iter().filter(which).count() as f64 / pairs.len() as f64;
    let raw = share(|(first, second)| first == second);
    let (first, second) = (share(|pair| pair.0), share(|pair| pair.1));
    let chance = first * second + (1.0 - first) * (1.0 - second);
    Ok(Agreement {
        items: pairs.len(),
        raw,
        kappa: (chance < 1.0).then(|| (raw - chance) / (1.0 - chance)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example_of_the_textbooks() {
        // 20 both yes, 5 first only, 10 second only, 15 both no: κ = 0.4.
        let mut pairs = vec![(true, true); 20];
        pairs.extend(vec![(true, false); 5]);
        pairs.extend(vec![(false, true); 10]);
        pairs.extend(vec![(false, false); 15]);
        let agreement = kappa(&pairs).unwrap();
        assert!((agreement.raw - 0.7).abs() < 1e-12);
        assert!((agreement.kappa.unwrap() - 0.4).abs() < 1e-12);
    }

    #[test]
    fn where_chance_agrees_always_there_is_no_kappa() {
        assert_eq!(kappa(&[(true, true); 4]).unwrap().kappa, None);
        assert!(kappa(&[]).is_err());
    }
}
