//! What a language model makes of texts, as JSON lines: `weigh MODEL.gguf < TEXTS`, each text a JSON string on a line.
//!
//! For `tools/reference_llama.py`, which holds it against a forward pass in numpy.

use memwarden_core::model::{Hidden as _, HiddenCall, Purpose, Score as _, ScoreCall};
use memwarden_model::{LanguageModel, Meter, Metered, Prices};
use std::error::Error;
use std::io::BufRead as _;
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("expected a GGUF file")?;
    let model = LanguageModel::open(Path::new(&path))?;
    let layer = model.blocks();
    let model = Metered::local(model, Arc::new(Meter::in_memory(Prices::default())));
    let purpose: Purpose = "check".parse()?;
    for line in std::io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        // After its own first token, so that nothing stands before the text that the other pass does not see.
        let whole = model
            .score(&[ScoreCall::new(&purpose, "", &text)])
            .pop()
            .ok_or("no score")??;
        let first = whole.tokens.first().map_or(0, |token| token.text.len());
        let (first, rest) = text
            .split_at_checked(first)
            .ok_or("the first token ends within a character")?;
        let scored = model
            .score(&[ScoreCall::new(&purpose, first, rest)])
            .pop()
            .ok_or("no score")??;
        let log_probabilities: Vec<f64> = scored.tokens.iter().map(|token| token.log_probability).collect();
        let call = HiddenCall {
            purpose: &purpose,
            text: &text,
            layer,
        };
        let states = model.hidden(&[call]).pop().ok_or("no states")??;
        println!(
            "{}",
            serde_json::json!({"log_probabilities": log_probabilities, "states": states.values})
        );
    }
    Ok(())
}
