//! The chat template that a GGUF carries, rendered with a bound on its work: a template is a program of others.

use memwarden_core::model::Message;
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, context};

/// Steps that a template may take, for each message and once more. A usual one takes about thirty.
const FUEL_PER_MESSAGE: u64 = 20_000;

/// How a conversation is written down for a model.
#[derive(Debug)]
pub(crate) struct Template {
    source: String,
    first: String,
    last: String,
}

impl Template {
    /// `first` and `last` are the control tokens that templates know as `bos_token` and `eos_token`.
    ///
    /// # Errors
    /// The source is no template.
    pub(crate) fn new(source: &str, first: String, last: String) -> Result<Self, String> {
        let template = Self {
            source: source.to_owned(),
            first,
            last,
        };
        template.environment(0)?;
        Ok(template)
    }

    /// The conversation, ready for a reply.
    pub(crate) fn render(&self, messages: &[Message]) -> Result<String, String> {
        let listed: Vec<minijinja::Value> = messages
            .iter()
            .map(|message| context! { role => message.speaker.as_str(), content => message.text.as_str() })
            .collect();
        self.environment(messages.len() as u64)?
            .get_template(Self::NAME)
            .and_then(|template| {
                template.render(context! {
                    messages => listed,
                    add_generation_prompt => true,
                    bos_token => self.first.as_str(),
                    eos_token => self.last.as_str(),
                })
            })
            .map_err(|error| error.to_string())
    }

    const NAME: &'static str = "chat";

    fn environment(&self, messages: u64) -> Result<Environment<'_>, String> {
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL_PER_MESSAGE.saturating_mul(messages.saturating_add(1))));
        // As the library does whose templates these are.
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        environment.set_syntax(syntax.map_err(|error| error.to_string())?);
        environment.add_function(
            "raise_exception",
            |reason: String| -> Result<String, minijinja::Error> {
                Err(minijinja::Error::new(
                    minijinja::ErrorKind::InvalidOperation,
                    reason,
                ))
            },
        );
        environment
            .add_template(Self::NAME, &self.source)
            .map_err(|error| error.to_string())?;
        Ok(environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str) -> Result<String, String> {
        let template = Template::new(source, "<s>".to_owned(), "</s>".to_owned())?;
        template.render(&[Message::system("Be brief."), Message::user("Hello")])
    }

    #[test]
    fn a_template_sees_messages_and_control_tokens() {
        let source = "{{ bos_token }}{% for message in messages %}[{{ message['role'] }}] {{ message.content }}\n\
                      {% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
        assert_eq!(
            render(source).unwrap(),
            "<s>[system] Be brief.\n[user] Hello\n[assistant]"
        );
    }

    #[test]
    fn a_template_that_is_none_that_refuses_or_that_never_ends_is_an_error() {
        let endless = "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        for (bad, said) in [
            ("{% for %}", "syntax"),
            ("{{ raise_exception('no system message') }}", "no system message"),
            (endless, "fuel"),
        ] {
            let error = render(bad).unwrap_err();
            assert!(error.contains(said), "{bad}: {error}");
        }
    }
}
