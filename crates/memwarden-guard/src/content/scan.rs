//! Finds shapes in every view of a text.
//!
//! For: one pass of the automaton over each view, and bounded work behind each hit. Not for: scores of a stage
//! (`findings`).

use super::Topic;
use super::context::{Setting, setting};
use super::evidence::Evidence;
use super::lexicon::{Group, Lexicon, Place, Rule, lexicon};
use super::spaced::Spaced;
use crate::bounds::{after, before};
use crate::normalize::{Normalized, ViewKind};
use regex_automata::{Anchored, Input};
use std::ops::Range;

/// Bytes behind the beginning of a shape that its expression may read.
const WINDOW: usize = 320;
/// What all views hold, by topic.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    evidence: [Evidence; 3],
}

/// A shape in the text.
#[derive(Debug, Clone)]
pub(super) struct Match {
    pub(super) rule: &'static Rule,
    /// In the original text.
    pub(super) span: Range<usize>,
    pub(super) setting: Setting,
    /// The view that holds it; none for the first.
    pub(super) view: Option<ViewKind>,
}

impl Scan {
    /// What was found of `topic`.
    pub(super) fn of(&self, topic: Topic) -> &Evidence {
        let [injection, standing_order, precedent] = &self.evidence;
        match topic {
            Topic::Injection => injection,
            Topic::StandingOrder => standing_order,
            Topic::Precedent => precedent,
        }
    }

    fn of_mut(&mut self, topic: Topic) -> &mut Evidence {
        let [injection, standing_order, precedent] = &mut self.evidence;
        match topic {
            Topic::Injection => injection,
            Topic::StandingOrder => standing_order,
            Topic::Precedent => precedent,
        }
    }
}

impl Match {
    /// What it says, in ten-thousandths.
    pub(super) const fn weight(&self) -> u32 {
        self.rule.score.saturating_mul(self.setting.weight())
    }
}

/// Every view of `normalized`, scanned.
pub(crate) fn scan(normalized: &Normalized<'_>) -> Scan {
    let lexicon = lexicon();
    let mut scan = Scan::default();
    one(lexicon, normalized.text(), &mut scan, |range| {
        (normalized.original(range), None)
    });
    for view in normalized.views() {
        one(lexicon, &view.text, &mut scan, |_| {
            (view.span.clone(), Some(view.kind))
        });
    }
    scan
}

fn one(
    lexicon: &'static Lexicon,
    view: &str,
    scan: &mut Scan,
    original: impl Fn(Range<usize>) -> (Range<usize>, Option<ViewKind>),
) {
    let spaced = Spaced::new(view);
    let text: &str = &spaced.text;
    let mut done: Vec<usize> = Vec::new();
    lexicon.heads.each(text, |head, at| {
        for beginning in lexicon.groups_of.get(head).into_iter().flatten() {
            let index = beginning.group;
            let Some(group) = lexicon.groups.get(index) else {
                continue;
            };
            if beginning
                .whole
                .is_some_and(|length| goes_on(text, at.saturating_add(length)))
            {
                continue;
            }
            // A match is not looked for again inside itself.
            if done.get(index).is_some_and(|end| at < *end) || !stands(group.place, view, &spaced, at) {
                continue;
            }
            let Some((rule, length)) = shape(group, after(text, at, WINDOW)) else {
                continue;
            };
            let range = at..at.saturating_add(length);
            if done.is_empty() {
                done.resize(lexicon.groups.len(), 0);
            }
            if let Some(end) = done.get_mut(index) {
                *end = range.end;
            }
            let evidence = scan.of_mut(rule.topic);
            if evidence.is_plenty() {
                evidence.count_one();
                continue;
            }
            let (span, view) = original(spaced.source(&range));
            evidence.add(Match {
                rule,
                span,
                setting: setting(lexicon, text, &range),
                view,
            });
        }
    });
    scan.evidence.iter_mut().for_each(Evidence::next_view);
}

/// The first shape of `group` that `window` begins with, and its length.
fn shape<'g>(group: &'g Group, window: &str) -> Option<(&'g Rule, usize)> {
    let input = Input::new(window).anchored(Anchored::Yes);
    let found = group.regex()?.find(input)?;
    Some((group.rules.get(found.pattern().as_usize())?, found.end()))
}

/// Whether the ASCII word that ends at `end` goes on there.
fn goes_on(text: &str, end: usize) -> bool {
    let next = text.as_bytes().get(end);
    next.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

fn stands(place: Place, view: &str, spaced: &Spaced<'_>, at: usize) -> bool {
    let last = |text: &str| text.chars().next_back();
    match place {
        Place::Anywhere => true,
        // A mark starts wherever it stands.
        Place::Word => {
            !after(&spaced.text, at, 4).starts_with(of_word)
                || !last(before(&spaced.text, at, 4)).is_some_and(of_word)
        }
        Place::Line => {
            let at = spaced.source(&(at..at)).start;
            let line = before(view, at, 24);
            let marks = line.rsplit('\n').next().unwrap_or_default();
            (marks.len() < line.len() || line.len() == at) && !marks.contains(char::is_alphanumeric)
        }
    }
}

fn of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
