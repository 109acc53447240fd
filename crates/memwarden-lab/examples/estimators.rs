//! Answers questions about estimators: JSON lines in, JSON lines out. `tests/stats/run` holds the answers against scipy.
//!
//! Each line is `{"estimator": NAME, ...}`; the answer is one JSON value on a line of its own. `bootstrap` also says how
//! many seconds it took.

use memwarden_lab::stats::{
    clopper_pearson, kappa, mcnemar, percentile, plan_for, sign_flip, stratified, wilson,
};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead as _, Write as _};
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let question: Value = serde_json::from_str(&line?)?;
        writeln!(out, "{}", answer(&question)?)?;
    }
    Ok(())
}

fn answer(question: &Value) -> Result<Value, Box<dyn Error>> {
    let whole = |key: &str| {
        question
            .get(key)
            .and_then(Value::as_u64)
            .ok_or(format!("no `{key}`"))
    };
    let number = |key: &str| {
        question
            .get(key)
            .and_then(Value::as_f64)
            .ok_or(format!("no `{key}`"))
    };
    let estimator = question
        .get("estimator")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Ok(match estimator {
        "mcnemar" => json!(mcnemar(whole("first")?, whole("second")?)),
        "wilson" => {
            let limits = wilson(whole("successes")?, whole("trials")?, number("level")?)?;
            json!([limits.low, limits.high])
        }
        "clopper-pearson" => {
            let limits = clopper_pearson(whole("successes")?, whole("trials")?, number("level")?)?;
            json!([limits.low, limits.high])
        }
        "sign-flip" => json!(sign_flip(&numbers(question.get("deltas"))?)?.p),
        "percentile" => {
            let mut values = numbers(question.get("values"))?;
            values.sort_by(f64::total_cmp);
            json!(percentile(&values, number("share")?))
        }
        "kappa" => {
            let pair = |pair: &Value| Some((pair.get(0)?.as_bool()?, pair.get(1)?.as_bool()?));
            let pairs = question
                .get("pairs")
                .and_then(Value::as_array)
                .ok_or("no `pairs`")?;
            let pairs: Option<Vec<(bool, bool)>> = pairs.iter().map(pair).collect();
            json!(kappa(&pairs.ok_or("a pair is no pair")?)?.kappa)
        }
        "plan" => json!(plan_for(number("effect")?, number("discordant")?, number("power")?)?.questions),
        "bootstrap" => {
            let strata = question
                .get("strata")
                .and_then(Value::as_array)
                .ok_or("no `strata`")?;
            let strata: Vec<Vec<f64>> = strata
                .iter()
                .map(|stratum| numbers(Some(stratum)))
                .collect::<Result<_, _>>()?;
            let strata: Vec<&[f64]> = strata.iter().map(Vec::as_slice).collect();
            let samples = usize::try_from(whole("samples")?)?;
            let began = Instant::now();
            let interval = stratified(&strata, samples, whole("seed")?)?;
            json!([interval.low, interval.high, began.elapsed().as_secs_f64()])
        }
        other => return Err(format!("no estimator `{other}`").into()),
    })
}

fn numbers(value: Option<&Value>) -> Result<Vec<f64>, Box<dyn Error>> {
    let values = value.and_then(Value::as_array).ok_or("no list of numbers")?;
    let numbers: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
    Ok(numbers.ok_or("a number is none")?)
}
