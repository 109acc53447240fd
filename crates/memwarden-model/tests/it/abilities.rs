//! Models that can less than is asked, a chat that is brought along, and the simulated one.

use crate::fixture::*;
use memwarden_core::encode::Encode as _;
use memwarden_core::model::{
    Attend as _, AttentionCall, Chat, ChatCall, Entail, EntailCall, Entailment, Finish, Hidden, HiddenCall,
    HiddenStates, Message, ModelError, Reply, Score, ScoreCall, Scored, Usage, UsageSource,
};
use memwarden_model::{Metered, Served};

#[derive(Debug)]
struct Parrot(Finish);

impl Chat for Parrot {
    fn model(&self) -> &str {
        "parrot"
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        let say = |call: &ChatCall<'_>| Reply {
            text: call.messages[0].text.clone(),
            finish: self.0.clone(),
            usage: None,
            tokens: Vec::new(),
        };
        calls.iter().map(|call| Ok(say(call))).collect()
    }
}

#[test]
fn a_chat_that_is_brought_along_is_metered_and_checked_like_any_other() {
    let meter = meter();
    let model = Metered::foreign(Box::new(Parrot(Finish::Stop)), meter.clone());
    assert_eq!(ask(&model).unwrap().text, "What is due on the 25th?");
    let cut = Metered::foreign(Box::new(Parrot(Finish::Length)), meter.clone());
    assert!(matches!(ask(&cut), Err(ModelError::Truncated { .. })));
    let total = total(&meter);
    assert_eq!((total.calls, total.approximated), (3, 3));
    assert!(total.completion_tokens > 0);
    assert_eq!(total.whole_cost(), None);
}

/// Weighs, shows and compares the same whatever it is given; says what it used only of a score.
#[derive(Debug)]
struct Stone;

impl Score for Stone {
    fn model(&self) -> &str {
        "stone"
    }

    fn score(&self, calls: &[ScoreCall<'_>]) -> Vec<Result<Scored, ModelError>> {
        let usage = Usage {
            prompt: 2,
            completion: 0,
            source: UsageSource::Provider,
        };
        let scored = Scored {
            tokens: Vec::new(),
            usage: Some(usage),
        };
        calls.iter().map(|_| Ok(scored.clone())).collect()
    }
}

impl Hidden for Stone {
    fn model(&self) -> &str {
        "stone"
    }

    fn hidden(&self, calls: &[HiddenCall<'_>]) -> Vec<Result<HiddenStates, ModelError>> {
        let states = HiddenStates {
            dimensions: 1,
            values: vec![0.5],
            usage: None,
        };
        calls.iter().map(|_| Ok(states.clone())).collect()
    }
}

impl Entail for Stone {
    fn model(&self) -> &str {
        "stone"
    }

    fn entail(&self, _: &[EntailCall<'_>]) -> Vec<Result<Entailment, ModelError>> {
        Vec::new()
    }
}

#[test]
fn every_ability_that_is_brought_along_is_metered() {
    let meter = meter();
    let purpose = purpose("defense:bottleneck");
    let score = ScoreCall {
        conversation: &[],
        purpose: &purpose,
        prefix: "a",
        continuation: "b",
    };
    let hidden = HiddenCall {
        purpose: &purpose,
        text: "a b c",
        layer: 0,
    };
    let entail = EntailCall {
        purpose: &purpose,
        premise: "a",
        hypothesis: "b",
    };
    let scores = Metered::foreign_score(Box::new(Stone), meter.clone());
    assert!(scores.score(&[score, score]).iter().all(Result::is_ok));
    let shows = Metered::foreign_hidden(Box::new(Stone), meter.clone());
    assert_eq!(shows.hidden(&[hidden]).pop().unwrap().unwrap().values, [0.5]);
    let compares = Metered::foreign_entail(Box::new(Stone), meter.clone());
    let error = compares.entail(&[entail]).pop().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "model `stone` failed: it gave 0 replies to one call"
    );
    assert!(matches!(
        shows.score(&[score]).pop().unwrap(),
        Err(ModelError::Unsupported { .. })
    ));
    let total = total(&meter);
    assert_eq!(
        (total.calls, total.prompt_tokens, total.approximated),
        (5, 2 + 2 + 3, 1)
    );
    assert_eq!(
        failures(&meter),
        [("failed".to_owned(), 1), ("unsupported".to_owned(), 1)]
    );
}

#[test]
fn asking_for_more_than_a_model_can_names_model_and_ability_and_is_counted() {
    let meter = meter();
    let model = Metered::foreign(Box::new(Parrot(Finish::Stop)), meter.clone());
    let purpose = purpose("defense:bottleneck");
    let score = ScoreCall::new(&purpose, "a", "b");
    let hidden = HiddenCall {
        purpose: &purpose,
        text: "a",
        layer: 3,
    };
    let attention = AttentionCall {
        purpose: &purpose,
        text: "a",
        block: 0,
    };
    let entail = EntailCall {
        purpose: &purpose,
        premise: "a",
        hypothesis: "b",
    };
    let errors = [
        model.score(&[score]).pop().unwrap().unwrap_err(),
        model.hidden(&[hidden]).pop().unwrap().unwrap_err(),
        model.attend(&[attention]).pop().unwrap().unwrap_err(),
        model.entail(&[entail]).pop().unwrap().unwrap_err(),
    ];
    for (error, ability) in errors.iter().zip(["score", "hidden", "attention", "entail"]) {
        assert_eq!(
            error.to_string(),
            format!("model `parrot` cannot do what was asked: it lacks `{ability}`")
        );
    }
    let error = model.encoder(purpose, 8).encode(&["a"]).unwrap_err();
    assert!(error.to_string().contains("lacks `encode`"), "{error}");
    assert_eq!(failures(&meter), [("unsupported".to_owned(), 5)]);
}

#[test]
fn the_simulated_model_is_labeled_and_the_same_prompt_gets_the_same_answer() {
    let meter = meter();
    let one = Metered::simulated(7, meter.clone()).unwrap();
    let same = Metered::simulated(7, meter.clone()).unwrap();
    let purpose = purpose("answer");
    let prompts: Vec<[Message; 1]> = (0..400)
        .map(|n| {
            let memory = "- It is verified that batch 0412 was reviewed.";
            [Message::user(format!(
                "Run {n}.\n{memory}\nValidate batch 0412 of ward 3?"
            ))]
        })
        .collect();
    let calls: Vec<ChatCall<'_>> = prompts
        .iter()
        .map(|messages| ChatCall::new(&purpose, messages, 8.try_into().unwrap()))
        .collect();
    let texts = |model: &Metered| -> Vec<String> {
        model
            .chat(&calls)
            .into_iter()
            .map(|reply| reply.unwrap().text)
            .collect()
    };
    let said = texts(&one);
    assert_eq!(said, texts(&same));
    assert_ne!(said, texts(&Metered::simulated(8, meter.clone()).unwrap()));
    // Two of the five words `validate batch 0412 ward 3` are claimed: σ(6 · 0.4 − 3) = 0.354, ± 5 deviations.
    let skips = said.iter().filter(|text| *text == "skip").count();
    assert!((94..=190).contains(&skips), "{skips}");
    assert_eq!(one.served(), Served::Simulated);
    let total = total(&meter);
    assert_eq!((total.simulated, total.calls), (1200, 1200));
}
