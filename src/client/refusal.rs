//! What an error of the client means, in the words of the server if it has spoken.

use engine::reconcile::Refusal;

/// An error in one line, with what caused it: the outermost layer alone says little.
pub(crate) fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some layers print their causes themselves.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

pub(super) fn unanswered(problem: &impl ToString) -> Refusal {
    Refusal::new(0, "", problem.to_string())
}

/// What an error of the client means for a reconcile.
pub(crate) fn refusal(error: &kube::Error) -> Refusal {
    match error {
        kube::Error::Api(status) => {
            let causes = status.details.iter().flat_map(|details| &details.causes);
            Refusal {
                // S14.3
                namespace_terminating: causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating"),
                ..Refusal::new(status.code, &status.reason, status.message.clone())
            }
        }
        other => unanswered(&explain(other)),
    }
}

#[cfg(test)]
mod tests;
