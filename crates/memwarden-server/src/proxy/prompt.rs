//! Counting what was sent, while it is read: no text is kept, and what is more than is counted is not read on.
//!
//! One visitor walks the body; `Place` says where it is, and so what a value there means. Whatever else the model reads
//! than text (an image, a file, sound) has tokens that only the provider knows: then there is no count.

use super::asked::Route;
use memwarden::model::{TOKENS_PER_MESSAGE, TOKENS_PER_REPLY, TokenCount};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The speaker of a message is a token.
const SPEAKER: u64 = 1;

/// Adds everything in a request that the model reads. `None` where that cannot be counted.
pub(super) fn count(route: Route, body: &[u8], count: &mut TokenCount) -> Option<()> {
    if route == Route::Chat {
        count.prompt_tokens(TOKENS_PER_REPLY);
    }
    let mut json = serde_json::Deserializer::from_slice(body);
    let walk = Walk {
        place: Place::Body(route),
        count: &mut *count,
    };
    walk.deserialize(&mut json).ok()?;
    (!count.is_over()).then_some(())
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Body(Route),
    Messages,
    Message,
    Content,
    Part,
    /// The name of what a part is.
    Kind,
    ToolCalls,
    ToolCall,
    Function,
    Text,
    /// What is embedded: texts, tokens, or lists of either.
    Input,
    /// Tools and formats: read by the model as text, in a form that only the provider knows.
    Form,
}

impl Place {
    /// Where the value of a field stands; `None` where nobody reads it.
    fn field(self, name: &str) -> Option<Self> {
        match (self, name) {
            (Self::Body(Route::Chat), "messages") => Some(Self::Messages),
            (Self::Body(Route::Chat), "tools" | "functions" | "response_format") | (Self::Form, _) => {
                Some(Self::Form)
            }
            (Self::Body(Route::Embeddings), "input") => Some(Self::Input),
            (Self::Message, "content") => Some(Self::Content),
            (Self::Message, "refusal" | "reasoning_content" | "name") => Some(Self::Text),
            (Self::Message, "tool_calls") => Some(Self::ToolCalls),
            (Self::Message, "function_call") | (Self::ToolCall, "function") => Some(Self::Function),
            (Self::Function, "name" | "arguments") | (Self::Part, "text" | "refusal") => Some(Self::Text),
            // Sound is no text: an object here has no count, like a part of another kind.
            (Self::Part, "type") | (Self::Message, "audio") => Some(Self::Kind),
            _ => None,
        }
    }

    /// Where the items of a list stand.
    fn item(self) -> Option<Self> {
        match self {
            Self::Messages => Some(Self::Message),
            Self::Content => Some(Self::Part),
            Self::ToolCalls => Some(Self::ToolCall),
            Self::Input | Self::Form => Some(self),
            _ => None,
        }
    }
}

/// Reads the value at a place.
struct Walk<'c> {
    place: Place,
    count: &'c mut TokenCount,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl Walk<'_> {
    fn at(&mut self, place: Place) -> Walk<'_> {
        Walk {
            place,
            count: &mut *self.count,
        }
    }

    /// Ends the walk where it has counted enough.
    fn go_on<E: Error>(&self) -> Result<(), E> {
        if self.count.is_over() {
            return Err(E::custom("more than is counted"));
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "what the protocol has at {:?}", self.place)
    }

    fn visit_map<M: MapAccess<'de>>(mut self, mut map: M) -> Result<(), M::Error> {
        match self.place {
            Place::Body(_) | Place::Part | Place::ToolCall | Place::Function => {}
            Place::Message => self.count.prompt_tokens(TOKENS_PER_MESSAGE + SPEAKER),
            Place::Form => self.count.approximate(),
            _ => return Err(M::Error::custom("an object that cannot be counted")),
        }
        while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if self.place == Place::Form {
                // A name, and a mark after it.
                self.count.prompt(&name);
                self.count.prompt_tokens(1);
            }
            match self.place.field(&name) {
                Some(place) => map.next_value_seed(self.at(place))?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            self.go_on()?;
        }
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(mut self, mut items: S) -> Result<(), S::Error> {
        let place = self
            .place
            .item()
            .ok_or_else(|| S::Error::custom("a list that cannot be counted"))?;
        while items.next_element_seed(self.at(place))?.is_some() {
            self.go_on()?;
        }
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        match self.place {
            Place::Text | Place::Content | Place::Input => self.count.prompt(text),
            Place::Form => {
                self.count.prompt(text);
                self.count.prompt_tokens(1);
            }
            Place::Kind if matches!(text, "text" | "input_text" | "output_text" | "refusal") => {}
            _ => return Err(E::custom("a text that cannot be counted")),
        }
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        match self.place {
            Place::Input | Place::Form => self.count.prompt_tokens(1),
            _ => return Err(E::custom("a number that cannot be counted")),
        }
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.visit_f64(0.0)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        match self.place {
            Place::Form => self.count.prompt_tokens(1),
            _ => return Err(E::custom("a number that cannot be counted")),
        }
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.visit_f64(0.0)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        // Every field may be null instead of missing.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memwarden::core::model::UsageSource;
    use memwarden::model::{Counted, MAX_COUNTED_BYTES};

    fn sent(route: Route, body: &str) -> Option<(u64, UsageSource)> {
        let mut tokens = TokenCount::of("gpt-4o", Counted::Texts).unwrap();
        count(route, body.as_bytes(), &mut tokens)?;
        tokens.usage().map(|usage| (usage.prompt, usage.source))
    }

    fn counted(route: Route, body: &str) -> Option<u64> {
        let (tokens, source) = sent(route, body)?;
        assert!(matches!(source, UsageSource::Counted { .. }), "{body}");
        Some(tokens)
    }

    #[test]
    fn what_the_model_reads_is_counted_whatever_its_form() {
        let body = r#"{"model":"m","new":{"messages":[[]]},"messages":[{"role":"system","content":"be kind"},
            {"role":"user","content":[{"type":"text","text":"look"},{"type":"text","text":"here"}],"new":{}},
            {"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]}]}"#;
        // Three messages of four, the reply's three; be, kind, look, here, f, {}.
        assert_eq!(counted(Route::Chat, body), Some(3 * 4 + 3 + 6));
        assert_eq!(
            counted(Route::Embeddings, r#"{"model":"m","input":["a b",[1,2,3]]}"#),
            Some(5)
        );
        assert_eq!(
            counted(Route::Embeddings, r#"{"input":"a b","model":"m"}"#),
            Some(2)
        );
    }

    #[test]
    fn the_form_of_tools_is_the_providers_so_their_count_is_marked() {
        let body =
            r#"{"messages":[],"tools":[{"type":"function","function":{"name":"f","strict":true,"min":1}}]}"#;
        let (tokens, source) = sent(Route::Chat, body).unwrap();
        assert!(tokens > 10, "{tokens}");
        assert!(matches!(source, UsageSource::Approximated { .. }));
    }

    #[test]
    fn what_is_no_text_has_no_count() {
        let deep = format!(
            r#"{{"messages":[{{"content":"a"}}],"tools":{}{}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        for body in [
            r#"{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:,A"}}]}]}"#,
            r#"{"messages":[{"content":[{"type":"text","text":"look"},{"type":"input_audio","input_audio":{}}]}]}"#,
            r#"{"messages":[{"content":7}]}"#,
            r#"{"messages":{"content":"a"}}"#,
            r#"{"messages":["a"]}"#,
            deep.as_str(),
        ] {
            assert_eq!(sent(Route::Chat, body), None, "{body}");
        }
        // What nobody reads may be as deep as it likes.
        let beside = format!(
            r#"{{"messages":[],"x":{}{}}}"#,
            "[".repeat(2_000),
            "]".repeat(2_000)
        );
        assert_eq!(counted(Route::Chat, &beside), Some(3));
    }

    #[test]
    fn many_short_texts_are_more_than_is_counted() {
        let body = format!(r#"{{"input":[{}"a"]}}"#, r#""a","#.repeat(MAX_COUNTED_BYTES / 16));
        assert_eq!(sent(Route::Embeddings, &body), None);
    }
}
