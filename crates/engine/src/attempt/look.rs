//! One request at the end of an attempt, to find out what blocks the rollout, or what its pods show.

use super::Attempt;
use crate::entry::Entry;
use crate::looks::{Course, Look, Page, Question};
use crate::port::{Cause, Note, Port, Reply, Request};
use crate::reconcile::{Outcome, Refusal};
use crate::waits::{Reason, Wait};

impl<P: Port> Attempt<'_, P> {
    /// Looks what blocks the rollout, if it is late, or what its pods show, if it is judged by them, and a look is due.
    /// Returns when to come again for that.
    pub(super) async fn look(&self, outcome: &Outcome) -> Option<Wait> {
        let looking = self.engine.settings.looking.filter(|_| outcome.error.is_none())?;
        let (key, now) = (self.key, self.port.now());
        let awaited = outcome.awaited.as_deref();
        let Course { mut is_news, mut is_evidence, question, mut again, .. } =
            self.engine.state().looks(looking, key).stands(awaited, now);
        if let Some(question) = question {
            let answer = self.read(question).await;
            let times = (self.port.now(), self.port.timestamp());
            let course = self.engine.state().looks(looking, key).answered(answer, times);
            is_news |= course.is_news;
            is_evidence |= course.is_evidence;
            again = course.again;
        }
        if is_news {
            self.report_blockers();
        }
        if is_news || is_evidence {
            // The next reconcile puts it into the status, or judges by it.
            again = again.filter(|_| !self.engine.flavour.has_status_extras()).or(Some(now));
        }
        again.map(|until| Wait { until, reason: Reason::Look })
    }

    async fn read(&self, question: Question) -> Result<Page, Refusal> {
        let namespace = self.key.namespace.clone();
        let request = match question {
            Question::Pods { selector, from } => Request::PagePods { namespace, selector, from },
            Question::Events { uid } => Request::ListWarnings { namespace, uid },
        };
        match self.send(request, Cause::Look).await? {
            Reply::Values(values, next) => Ok((values, next)),
            _ => Err(Refusal::new(0, "", "the reply shows no list".to_owned())),
        }
    }

    fn report_blockers(&self) {
        let look = |known: &mut Entry| known.look.as_deref().and_then(Look::findings);
        let findings = self.engine.state().known(self.key).and_then(look);
        self.port.note(Note::Blocked(&findings.unwrap_or_default().blockers));
    }
}
