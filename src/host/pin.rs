//! Pinning threads to CPUs: asked for, tried, and recorded as it came out.
//!
//! A thread that cannot be pinned still runs; what happened is kept, so that a
//! configuration can insist on it and a report can say it.

/// A CPU as the system numbers it; numbers may have gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(pub usize);

/// Where workers are to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PinPlan {
    /// Wherever the system puts them.
    #[default]
    Anywhere,
    /// One CPU each, from those that this process may use, in their order,
    /// beginning with the given one of them; round robin when there are fewer.
    Spread {
        /// How many of the allowed CPUs to leave free at the front: 1 keeps the
        /// first for everything else.
        skip: usize,
    },
    /// These CPUs, by worker; workers beyond the list are not pinned.
    Cpus(Vec<usize>),
}

/// What pinning a thread came to (fault 41).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinOutcome {
    /// Nobody asked for it.
    NotAsked,
    /// Runs on this CPU alone.
    Pinned(Cpu),
    /// The system refused; it runs wherever the system puts it.
    Refused(Cpu),
    /// This process may not use that CPU, so it was not tried.
    NotAllowed(Cpu),
}

impl PinPlan {
    /// The CPU of a worker, among those that [`allowed_cpus`] listed before
    /// anything was pinned; `None` where it is not to be pinned.
    #[must_use]
    pub fn cpu_of(&self, worker: usize, allowed: &[Cpu]) -> Option<Target> {
        match self {
            Self::Anywhere => None,
            Self::Spread { skip } => {
                // With nothing left to spread over, all are used.
                let usable = allowed.get(*skip..).filter(|rest| !rest.is_empty());
                let usable = usable.unwrap_or(allowed);
                let cpu = usable.get(worker.checked_rem(usable.len())?)?;
                Some(Target::Allowed(*cpu))
            }
            Self::Cpus(cpus) => {
                let cpu = Cpu(*cpus.get(worker)?);
                Some(if allowed.contains(&cpu) {
                    Target::Allowed(cpu)
                } else {
                    Target::Foreign(cpu)
                })
            }
        }
    }
}

/// A CPU that a plan names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// This process may use it.
    Allowed(Cpu),
    /// It is outside of this process' mask.
    Foreign(Cpu),
}

/// The CPUs that the calling thread may use, ascending; at least one.
///
/// A pinned thread sees its own CPU only: call this before pinning.
#[must_use]
pub fn allowed_cpus() -> Vec<Cpu> {
    let mut cpus: Vec<Cpu> = core_affinity::get_core_ids()
        .unwrap_or_default()
        .into_iter()
        .map(|core| Cpu(core.id))
        .collect();
    cpus.sort_unstable();
    if cpus.is_empty() {
        // The system does not say; it runs us somewhere.
        cpus.push(Cpu(0));
    }
    cpus
}

/// Pins the calling thread, if the system lets it.
#[must_use]
pub fn pin_current_thread(target: Target) -> PinOutcome {
    match target {
        Target::Foreign(cpu) => PinOutcome::NotAllowed(cpu),
        Target::Allowed(cpu) => {
            if core_affinity::set_for_current(core_affinity::CoreId { id: cpu.0 }) {
                PinOutcome::Pinned(cpu)
            } else {
                PinOutcome::Refused(cpu)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f41_a_plan_keeps_to_the_mask_and_minds_sparse_ids() {
        let allowed = [Cpu(2), Cpu(5), Cpu(64)];
        let spread = PinPlan::Spread { skip: 1 };
        let cpus: Vec<_> = (0..4).map(|w| spread.cpu_of(w, &allowed)).collect();
        assert_eq!(
            cpus,
            [5, 64, 5, 64].map(|id| Some(Target::Allowed(Cpu(id))))
        );
        let too_much = PinPlan::Spread { skip: 3 };
        assert_eq!(
            too_much.cpu_of(0, &allowed),
            Some(Target::Allowed(Cpu(2))),
            "with nothing left over, all are used"
        );
        let named = PinPlan::Cpus(vec![5, 3]);
        assert_eq!(named.cpu_of(0, &allowed), Some(Target::Allowed(Cpu(5))));
        assert_eq!(named.cpu_of(1, &allowed), Some(Target::Foreign(Cpu(3))));
        assert_eq!(named.cpu_of(2, &allowed), None);
        assert_eq!(PinPlan::Anywhere.cpu_of(0, &allowed), None);
    }

    #[test]
    fn f41_a_cpu_that_is_not_there_is_recorded_and_the_thread_runs_on() {
        let outcome = std::thread::spawn(|| {
            let before = allowed_cpus();
            let refused = pin_current_thread(Target::Allowed(Cpu(1_000)));
            let foreign = pin_current_thread(Target::Foreign(Cpu(1_001)));
            assert_eq!(allowed_cpus(), before, "a refusal changes nothing");
            (refused, foreign)
        })
        .join();
        assert_eq!(
            outcome.ok(),
            Some((
                PinOutcome::Refused(Cpu(1_000)),
                PinOutcome::NotAllowed(Cpu(1_001))
            ))
        );
    }

    #[test]
    fn f41_a_pinned_thread_sees_its_own_cpu_only() {
        let cpus = allowed_cpus();
        let last = cpus[cpus.len() - 1];
        let seen = std::thread::spawn(move || {
            let outcome = pin_current_thread(Target::Allowed(last));
            (outcome, allowed_cpus())
        })
        .join();
        assert_eq!(seen.ok(), Some((PinOutcome::Pinned(last), vec![last])));
    }
}
