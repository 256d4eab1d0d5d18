//! What goes wrong with a request.

use crate::engine::Engine;
use crate::link::Sent;
use crate::scenario::{Fault, LookFault, WriteFault};
use crate::tenant;

/// What happens to a request instead of its being served.
pub(super) enum Trick {
    Refuse(u16),
    Write(WriteFault),
    Look(LookFault),
}

impl Engine<'_> {
    /// What happens to a request, if anything. Those for the tenant are not counted.
    pub(super) fn fault_of(&mut self, Sent { of, request, .. }: &Sent) -> Option<Trick> {
        if tenant::owns(*of) {
            let is_lost = request.is_write() && self.holds.answers > 0;
            return is_lost.then_some(Trick::Write(WriteFault::LostAnswer));
        }
        let (writes, reads, looks) = self.sent;
        let faults = if self.nature.is_healed { &[] } else { self.scenario.faults.as_slice() };
        if request.is_write() {
            self.sent.0 += 1;
            self.counts.sent_writes += 1;
            if self.holds.answers > 0 {
                return Some(Trick::Write(WriteFault::LostAnswer));
            }
            faults.iter().find_map(|fault| match fault {
                Fault::Write(nth, WriteFault::Refused(code)) if *nth == writes => Some(Trick::Refuse(*code)),
                Fault::Write(nth, fault) if *nth == writes => Some(Trick::Write(*fault)),
                _ => None,
            })
        } else if request.is_look() {
            self.sent.2 += 1;
            faults.iter().find_map(|fault| match fault {
                Fault::Look(nth, fault) if *nth == looks => Some(Trick::Look(*fault)),
                _ => None,
            })
        } else {
            self.sent.1 += 1;
            faults.iter().find_map(|fault| match fault {
                Fault::Read(nth, code) if *nth == reads => Some(Trick::Refuse(*code)),
                _ => None,
            })
        }
    }
}
