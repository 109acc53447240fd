//! `models`: what lies on this machine and can be run, where it is built in.

use crate::Outcome;
use crate::args::{Global, ModelsCommand};
use crate::failure::Failure;

/// Says how to get it.
#[cfg(not(feature = "models"))]
pub(super) fn run(_: &Global, _: &ModelsCommand) -> Result<Outcome, Failure> {
    Err(Failure::Input(
        "this build runs no models; build it with `cargo build --release -p memwarden-cli --features models`"
            .to_owned(),
    ))
}

#[cfg(feature = "models")]
pub(super) use built_in::run;

#[cfg(feature = "models")]
mod built_in {
    use super::{Failure, Global, ModelsCommand, Outcome};
    use crate::{output, session};
    use memwarden::{Checked, KnownModel, Models, ModelsError};
    use serde_json::{Value, json};
    use std::path::Path;

    pub(in super::super) fn run(global: &Global, command: &ModelsCommand) -> Result<Outcome, Failure> {
        let models = session::models(global)?;
        match command {
            ModelsCommand::List => list(global, &models),
            ModelsCommand::Add { name, path } => add(global, &models, name, path),
            ModelsCommand::Check { name } => check(global, &models, name.as_deref()),
        }
    }

    fn list(global: &Global, models: &Models) -> Result<Outcome, Failure> {
        let known = models.list().map_err(|error| refused(&error))?;
        if global.json {
            let models: Vec<Value> = known.iter().map(fields).collect();
            output::json(&json!({"directory": known_in(global)?, "models": models}))?;
            return Ok(Outcome::Clean);
        }
        let mut table = output::table(&["name", "kind", "can", "files", "path"]);
        for model in &known {
            table.add_row([
                model.name.clone(),
                model.kind.to_string(),
                abilities(model).join(", "),
                if model.path.exists() { "there" } else { "missing" }.to_owned(),
                output::cell(&model.path.to_string_lossy(), 200),
            ]);
        }
        output::line(&table.to_string())?;
        output::line(&format!("names are kept in {}", known_in(global)?))?;
        Ok(Outcome::Clean)
    }

    fn add(global: &Global, models: &Models, name: &str, path: &Path) -> Result<Outcome, Failure> {
        let (known, checked) = models.add(name, path).map_err(|error| refused(&error))?;
        if global.json {
            output::json(&with(fields(&known), "saw", &checked.saw))?;
            return Ok(Outcome::Clean);
        }
        output::line(&format!(
            "`{name}` is now the {} at {}, which stays where it is; {}",
            known.kind,
            output::cell(&known.path.to_string_lossy(), 200),
            checked.saw
        ))?;
        Ok(Outcome::Clean)
    }

    fn check(global: &Global, models: &Models, name: Option<&str>) -> Result<Outcome, Failure> {
        let wanted = match name {
            Some(name) => vec![models.find(name).map_err(|error| refused(&error))?],
            None => models.list().map_err(|error| refused(&error))?,
        };
        let checks: Vec<(KnownModel, Result<Checked, ModelsError>)> = wanted
            .into_iter()
            .map(|model| {
                let checked = model.check();
                (model, checked)
            })
            .collect();
        if global.json {
            let rows = checks.iter().map(|(model, checked)| match checked {
                Ok(checked) => with(fields(model), "saw", &checked.saw),
                Err(error) => with(fields(model), "error", &error.to_string()),
            });
            output::json(&json!({"models": rows.collect::<Vec<Value>>()}))?;
        } else {
            let mut table = output::table(&["name", "kind", "loads", "saw"]);
            for (model, checked) in &checks {
                let (loads, saw) = match checked {
                    Ok(checked) => ("yes", checked.saw.clone()),
                    Err(error) => ("no", error.to_string()),
                };
                table.add_row([
                    model.name.clone(),
                    model.kind.to_string(),
                    loads.to_owned(),
                    output::cell(&saw, 400),
                ]);
            }
            output::line(&table.to_string())?;
        }
        let sound = checks.iter().all(|(_, checked)| checked.is_ok());
        Ok(if sound { Outcome::Clean } else { Outcome::Findings })
    }

    fn fields(model: &KnownModel) -> Value {
        json!({
            "name": model.name,
            "kind": model.kind.as_str(),
            "abilities": abilities(model),
            "path": model.path,
            "there": model.path.exists(),
            "model": model.model,
        })
    }

    fn with(mut row: Value, field: &str, text: &str) -> Value {
        if let Some(row) = row.as_object_mut() {
            row.insert(field.to_owned(), json!(text));
        }
        row
    }

    fn abilities(model: &KnownModel) -> Vec<&'static str> {
        model
            .kind
            .abilities()
            .iter()
            .map(|ability| ability.as_str())
            .collect()
    }

    fn known_in(global: &Global) -> Result<String, Failure> {
        Ok(output::cell(
            &session::models(global)?.directory().to_string_lossy(),
            200,
        ))
    }

    fn refused(error: &ModelsError) -> Failure {
        match error {
            ModelsError::File { path, source } => Failure::file(path, source),
            error => Failure::Input(error.to_string()),
        }
    }
}
