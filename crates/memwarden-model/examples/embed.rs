//! The vectors of texts as JSON lines: `embed DIRECTORY < TEXTS`, each text a JSON string on a line. All texts are one
//! batch.
//!
//! For `tests/models/encoder`, which holds them against a forward pass in numpy.

use memwarden_core::encode::Encode as _;
use memwarden_model::{Meter, Metered, Prices};
use std::error::Error;
use std::io::BufRead as _;
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args()
        .nth(1)
        .ok_or("expected the directory of a sentence encoder")?;
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    let encoder = Metered::sentence_encoder(Path::new(&directory), "check".parse()?, meter)?;
    let lines = std::io::stdin().lock().lines();
    let texts: Vec<String> = lines
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect::<Result<_, Box<dyn Error>>>()?;
    let batch: Vec<&str> = texts.iter().map(String::as_str).collect();
    let batch = encoder.encode(&batch)?;
    for (text, rounded) in texts.iter().zip(&batch) {
        let vector = encoder.encode_query(text)?;
        let line = serde_json::json!({"vector": vector, "rounded": rounded.values()});
        println!("{line}");
    }
    Ok(())
}
