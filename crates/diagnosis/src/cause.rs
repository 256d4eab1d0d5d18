//! The causes, each one word.

use std::fmt;

/// What blocks a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// An image cannot be pulled.
    ImagePull,
    /// A container cannot be started as it is configured: for example, a ConfigMap or a Secret is missing.
    ContainerConfig,
    /// A container ends with an error, again and again.
    CrashLoop,
    /// A container runs, and a probe fails.
    ReadinessProbe,
    /// No node accepts the pod.
    Unschedulable,
    /// A volume cannot be attached or mounted.
    Volume,
    /// A quota is used up.
    Quota,
    /// A webhook denies the request, or does not answer.
    AdmissionWebhook,
    /// An admission policy denies the request.
    AdmissionPolicy,
    /// The namespace's Pod Security level denies the request.
    PodSecurity,
    /// The server refuses the request for another reason.
    Refused,
    /// Pods have had their time to terminate, and are still there.
    Terminating,
    /// Nobody may read what would show the cause.
    Unknown,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::ImagePull,
        Self::ContainerConfig,
        Self::CrashLoop,
        Self::ReadinessProbe,
        Self::Unschedulable,
        Self::Volume,
        Self::Quota,
        Self::AdmissionWebhook,
        Self::AdmissionPolicy,
        Self::PodSecurity,
        Self::Refused,
        Self::Terminating,
        Self::Unknown,
    ];

    /// The word for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ImagePull => "ImagePull",
            Self::ContainerConfig => "ContainerConfig",
            Self::CrashLoop => "CrashLoop",
            Self::ReadinessProbe => "ReadinessProbe",
            Self::Unschedulable => "Unschedulable",
            Self::Volume => "Volume",
            Self::Quota => "Quota",
            Self::AdmissionWebhook => "AdmissionWebhook",
            Self::AdmissionPolicy => "AdmissionPolicy",
            Self::PodSecurity => "PodSecurity",
            Self::Refused => "Refused",
            Self::Terminating => "Terminating",
            Self::Unknown => "Unknown",
        }
    }

    /// What a refusal of the server is about.
    #[must_use]
    pub fn of_refusal(message: &str) -> Self {
        let says = |part: &str| message.contains(part);
        if says("exceeded quota") {
            Self::Quota
        } else if says("admission webhook") || says("failed calling webhook") {
            Self::AdmissionWebhook
        } else if says("ValidatingAdmissionPolicy") {
            Self::AdmissionPolicy
        } else if says("violates PodSecurity") {
            Self::PodSecurity
        } else {
            Self::Refused
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart_by_the_words_of_the_server() {
        let cases = [
            ("pods \"x\" is forbidden: exceeded quota: small, requested: pods=1", Cause::Quota),
            ("admission webhook \"policy.example\" denied the request: no", Cause::AdmissionWebhook),
            ("Internal error occurred: failed calling webhook \"x\": timeout", Cause::AdmissionWebhook),
            (
                "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
                Cause::AdmissionPolicy,
            ),
            ("pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"", Cause::PodSecurity),
            ("pods \"x\" is forbidden: maximum cpu usage per Container is 1, but limit is 2", Cause::Refused),
        ];
        for (message, cause) in cases {
            assert_eq!(Cause::of_refusal(message), cause, "{message}");
        }
    }
}
