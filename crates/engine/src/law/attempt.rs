//! Asking again: which attempts tell what a wrong answer depends on.

use qkvet_spec::{Call, Response, Strides, Target, Threads};

/// One more time that a call, or all calls of a case, are put to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// As it was put first.
    Same,
    /// On inputs that are contiguous in memory.
    Contiguous,
    /// On views of which heads and positions lie exchanged in memory.
    Views,
    /// On so many threads.
    Threads(Threads),
}

impl Attempt {
    /// The answer to a call; `None` where the target is handed no views.
    pub(super) fn put(self, target: &mut dyn Target, call: &Call) -> Option<Response> {
        match self {
            Self::Same | Self::Threads(_) => Some(target.call(call)),
            Self::Contiguous => Some(target.call_contiguous(call)),
            Self::Views => target.call_transposed(call),
        }
    }
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// Something right, or other bits.
    Other,
    /// What is wrong as before.
    Alike,
    /// Nothing that tells anything.
    Nothing,
}

/// A question about something wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Does a call that was put as views come to nothing because of them?
    ViewsBreak,
    /// Does a call give other bits when it is put again?
    Varies,
    /// Is a wrong call, whose inputs lay like this, right where they lie otherwise?
    Layout(Strides),
    /// Is a case still wrong when it is put again? Each attempt may take another case, at most so
    /// many.
    Stays(usize),
    /// Is a case that is wrong on several threads right on one?
    Threads {
        /// How often each number of threads is tried; with 1, one right answer is enough.
        times: usize,
    },
}

/// A question and what came of its attempts so far.
#[derive(Clone, Debug)]
pub struct Inquiry {
    question: Question,
    came: Vec<Came>,
}

impl Inquiry {
    /// Nothing was attempted yet.
    pub fn new(question: Question) -> Self {
        Self { question, came: Vec::new() }
    }

    /// What came of the last attempt.
    pub fn add(&mut self, came: Came) {
        self.came.push(came);
    }

    /// What came of the attempts, in order.
    pub fn came(&self) -> &[Came] {
        &self.came
    }

    /// The next attempt; `None` once nothing more has to be known.
    pub fn next(&self) -> Option<Attempt> {
        use Came::{Alike, Other};
        match (self.question, self.came()) {
            (Question::ViewsBreak, []) => Some(Attempt::Contiguous),
            (Question::ViewsBreak | Question::Layout(_), [Other]) => Some(Attempt::Same),
            // Twice, because a target that alternates may be in step with the first repetition.
            (Question::Varies, [] | [Alike]) => Some(Attempt::Same),
            // Either layout once more: what depends on the calls before looks as if it depended on
            // the layout.
            (Question::Layout(Strides::Transposed), [] | [Other, Alike]) => {
                Some(Attempt::Contiguous)
            }
            (Question::Layout(Strides::Contiguous), [] | [Other, Alike]) => Some(Attempt::Views),
            (Question::Stays(most), came) if came.len() < most && !came.contains(&Alike) => {
                Some(Attempt::Same)
            }
            (Question::Threads { .. }, []) => Some(Attempt::Threads(Threads::One)),
            (Question::Threads { times }, [Other, ..]) if times > 1 => {
                match self.came.len() / times {
                    0 => Some(Attempt::Threads(Threads::One)),
                    1 => Some(Attempt::Threads(Threads::Library)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether the answer is yes.
    pub fn holds(&self) -> bool {
        use Came::{Alike, Other};
        match (self.question, self.came()) {
            (Question::ViewsBreak, came) => came == [Other, Alike],
            (Question::Varies, came) => came.last() == Some(&Other),
            (Question::Layout(_), came) => came == [Other, Alike, Other],
            (Question::Stays(_), came) => came.last() == Some(&Alike),
            (Question::Threads { times: 0 | 1 }, came) => came == [Other],
            (Question::Threads { times }, came) => {
                let (one, several) = came.split_at(times.min(came.len()));
                !one.contains(&Alike) && several.contains(&Alike)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Came::{Alike, Nothing, Other};

    /// The attempts that are made if these things come of them, and the answer.
    fn check(question: Question, came: &[Came], attempts: &[Attempt], holds: bool) {
        let mut inquiry = Inquiry::new(question);
        let mut made = Vec::new();
        for came in came {
            made.extend(inquiry.next());
            inquiry.add(*came);
        }
        assert_eq!((made.as_slice(), inquiry.next()), (attempts, None), "{question:?} {came:?}");
        assert_eq!(inquiry.holds(), holds, "{question:?} {came:?}");
    }

    #[test]
    fn each_answer_has_its_next_attempt() {
        use Attempt::{Contiguous, Same, Views};
        let [one, several] = [Threads::One, Threads::Library].map(Attempt::Threads);
        check(Question::ViewsBreak, &[Nothing], &[Contiguous], false);
        check(Question::ViewsBreak, &[Other, Nothing], &[Contiguous, Same], false);
        check(Question::ViewsBreak, &[Other, Alike], &[Contiguous, Same], true);
        check(Question::Varies, &[Other], &[Same], true);
        check(Question::Varies, &[Nothing], &[Same], false);
        check(Question::Varies, &[Alike, Other], &[Same; 2], true);
        check(Question::Varies, &[Alike, Alike], &[Same; 2], false);
        for (was, other) in [(Strides::Transposed, Contiguous), (Strides::Contiguous, Views)] {
            let layout = Question::Layout(was);
            check(layout, &[Alike], &[other], false);
            check(layout, &[Other, Other], &[other, Same], false);
            check(layout, &[Other, Alike, Alike], &[other, Same, other], false);
            check(layout, &[Other, Alike, Other], &[other, Same, other], true);
        }
        check(Question::Layout(Strides::Declined), &[], &[], false);
        check(Question::Stays(3), &[Other, Alike], &[Same; 2], true);
        check(Question::Stays(3), &[Other; 3], &[Same; 3], false);
        check(Question::Threads { times: 2 }, &[Alike], &[one], false);
        check(Question::Threads { times: 1 }, &[Other], &[one], true);
        let all = [one, one, several, several];
        check(Question::Threads { times: 2 }, &[Other, Other, Other, Alike], &all, true);
        check(Question::Threads { times: 2 }, &[Other, Alike, Alike, Alike], &all, false);
        check(Question::Threads { times: 2 }, &[Other; 4], &all, false);
    }
}
