//! The exit codes: one table for the program, for `--help` and for docs/reference/cli.md.

use std::process::ExitCode;

/// What the exit code reports to a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The command did what it was asked to do.
    Done,
    /// The rollout did not succeed, and waiting does not help.
    Failed,
    /// The command line is wrong.
    Usage,
    /// The rollout is not done yet.
    Unfinished,
    /// The rollout is not done until a person acts.
    Paused,
    /// What was named does not exist.
    NotFound,
    /// The cluster could not be asked.
    NoAccess,
}

impl Code {
    /// All codes, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Unfinished,
        Self::Paused,
        Self::NotFound,
        Self::NoAccess,
    ];

    /// The number.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unfinished => 3,
            Self::Paused => 4,
            Self::NotFound => 5,
            Self::NoAccess => 6,
        }
    }

    /// The line of the table.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed: the rollout, or a request that the API server refused",
            Self::Usage => "usage: the command line is wrong",
            Self::Unfinished => "not done within the time limit, or still waiting",
            Self::Paused => "paused, or waiting for a person",
            Self::NotFound => "not found: the object, or a revision of it",
            Self::NoAccess => "forbidden, or the API server cannot be reached",
        }
    }

    /// The table, for the end of `--help`.
    pub(crate) fn help() -> String {
        let lines = Self::ALL.map(|code| format!("\n  {}  {}", code.number(), code.meaning()));
        format!("Exit codes:{}", lines.concat())
    }

    /// The code for a request that did not succeed.
    pub(crate) fn of(error: &kube::Error) -> Self {
        match error {
            // 502 to 504: a proxy answers, and the API server behind it does not.
            kube::Error::Api(status) => match status.code {
                404 => Self::NotFound,
                401 | 403 | 502..=504 => Self::NoAccess,
                _ => Self::Failed,
            },
            _ => Self::NoAccess,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code.number())
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn each_code_has_the_number_of_its_place() {
        let numbers = Code::ALL.map(Code::number);
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6]);
    }

    /// docs/reference/cli.md has the same table.
    #[test]
    fn the_page_has_the_table() {
        let page = include_str!("../../../docs/reference/cli.md");
        let lines = Code::ALL.map(|code| format!("| {} | {} |\n", code.number(), code.meaning()));
        let table = format!("| code | |\n|---|---|\n{}\n", lines.concat());
        assert!(page.contains(&table), "docs/reference/cli.md lacks this table:\n{table}");
    }

    #[test]
    fn an_answer_tells_its_code() {
        let refused =
            |code: u16| Code::of(&kube::Error::Api(Status::failure("no", "").with_code(code).boxed()));
        for (answer, code) in [
            (400, Code::Failed),
            (401, Code::NoAccess),
            (403, Code::NoAccess),
            (404, Code::NotFound),
            (409, Code::Failed),
            (422, Code::Failed),
            (429, Code::Failed),
            (500, Code::Failed),
            (503, Code::NoAccess),
            (504, Code::NoAccess),
        ] {
            assert_eq!(refused(answer), code, "{answer}");
        }
        let broken = kube::Error::Service(Box::from("connection refused"));
        assert_eq!(Code::of(&broken), Code::NoAccess);
        let garbled = serde_json::from_str::<u8>("no").map_err(kube::Error::SerdeError);
        assert_eq!(garbled.map_err(|error| Code::of(&error)), Err(Code::NoAccess));
    }
}
