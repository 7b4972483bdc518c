//! Calls of custom policies, each behind a fence: a panic is an answer (rules
//! K7, K25).

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrayvec::ArrayVec;

use super::ConfigError;
use super::admission::Scene;
use super::custom::{FinalizeFailed, Mutation, OrderContext, Policy, RiskEvent, Verdict};
use super::engine::RiskEngine;
use super::policies::room;
use super::rejects::{PolicyId, Reject, Rejects};
use crate::limits::{CUSTOM_POLICIES_MAX, MUTATIONS_MAX, REJECTS_MAX};
use crate::types::{AccountId, GroupId, RejectCode, RejectScope};

/// What the policies registered for one order, oldest first.
pub(super) type Mutations = ArrayVec<(u8, Mutation), MUTATIONS_MAX>;

/// A panic, or an error, of a finalizer.
fn finished(call: impl FnOnce() -> Result<(), FinalizeFailed>) -> bool {
    matches!(catch_unwind(AssertUnwindSafe(call)), Ok(Ok(())))
}

impl RiskEngine {
    /// Adds a policy; it speaks after the built-in ones and those added before.
    ///
    /// # Errors
    /// There are too many policies, or they could give one order more rejects
    /// than there is room for (K2).
    pub fn add_policy(&mut self, mut policy: Box<dyn Policy>) -> Result<(), ConfigError> {
        if self.custom.len() >= CUSTOM_POLICIES_MAX {
            return Err(ConfigError::value(
                policy.name(),
                format!("an engine has {CUSTOM_POLICIES_MAX} custom policies at most"),
            ));
        }
        if policy.rejects_max() == 0 {
            return Err(ConfigError::value(
                policy.name(),
                "a policy must be able to refuse: rejects_max is 1 at least",
            ));
        }
        let others: usize = self.custom.iter().map(|other| other.rejects_max()).sum();
        let possible = room::STAGE + others + policy.rejects_max();
        if possible > REJECTS_MAX {
            return Err(ConfigError::TooManyRejects {
                possible,
                room: REJECTS_MAX,
            });
        }
        policy.placed(self.shard);
        self.custom.push(policy);
        Ok(())
    }

    fn context<'a>(&self, scene: &Scene<'a>) -> OrderContext<'a> {
        OrderContext {
            order: scene.order,
            group: GroupId::new(self.accounts.get(scene.account).group),
            now: scene.now,
        }
    }

    /// Asks every policy about an order, in one stage.
    pub(super) fn ask_custom(
        &self,
        scene: &Scene<'_>,
        rejects: &mut Rejects,
        mutations: &mut Mutations,
        stage: impl Fn(&dyn Policy, &OrderContext<'_>, &mut Verdict<'_>),
    ) {
        let context = self.context(scene);
        for (number, policy) in (0u8..).zip(&self.custom) {
            let mut verdict = Verdict::new(rejects, mutations, number, policy.rejects_max());
            let call = AssertUnwindSafe(|| stage(policy.as_ref(), &context, &mut verdict));
            if catch_unwind(call).is_err() {
                rejects.push(failed(number));
            }
        }
    }

    /// Tells every policy that an order reached the start stage.
    pub(super) fn show_custom(&mut self, scene: &Scene<'_>, rejects: &mut Rejects) {
        let context = self.context(scene);
        for (number, policy) in (0u8..).zip(&mut self.custom) {
            let call = AssertUnwindSafe(|| policy.seen(&context));
            if catch_unwind(call).is_err() {
                rejects.push(failed(number));
            }
        }
    }

    /// Applies what was registered; a panic undoes what was applied so far.
    pub(super) fn apply_custom(&mut self, mutations: &Mutations) -> Result<(), Reject> {
        for (done, (number, mutation)) in mutations.iter().enumerate() {
            let policy = &mut self.custom[usize::from(*number)];
            if catch_unwind(AssertUnwindSafe(|| policy.apply(*mutation))).is_err() {
                self.finish_custom(&mutations[..done], false);
                return Err(failed(*number));
            }
        }
        Ok(())
    }

    /// Finishes mutations, newest first; a failure arms the kill switch for
    /// everyone, and the others are finished all the same.
    pub(super) fn finish_custom(&mut self, mutations: &[(u8, Mutation)], keep: bool) {
        for (number, mutation) in mutations.iter().rev() {
            let policy = &mut self.custom[usize::from(*number)];
            let done = finished(|| {
                if keep {
                    policy.commit(*mutation)
                } else {
                    policy.rollback(*mutation)
                }
            });
            if !done {
                self.shared.halt(RejectCode::KillSwitchArmed);
            }
        }
    }

    /// Finishes what an order registered.
    #[inline]
    pub(super) fn finish_order(&mut self, index: u32, keep: bool) {
        if !self.custom.is_empty() {
            self.finish_registered(index, keep);
        }
    }

    fn finish_registered(&mut self, index: u32, keep: bool) {
        let Some(place) = self.mutations.get_mut(index as usize) else {
            return;
        };
        let mutations = core::mem::take(place);
        self.finish_custom(&mutations, keep);
    }

    /// Remembers what an order registered.
    pub(super) fn keep_mutations(&mut self, index: u32, mutations: Mutations) {
        let index = index as usize;
        if self.mutations.len() <= index {
            self.mutations.resize_with(index + 1, Mutations::new);
        }
        self.mutations[index] = mutations;
    }

    /// Tells every policy what happened; `true` if one failed, which stops
    /// entry for everyone. A policy's answer blocks `account`.
    pub(super) fn tell_custom(
        &mut self,
        account: Option<AccountId>,
        event: &RiskEvent<'_>,
    ) -> bool {
        let mut failed = false;
        let mut block = None;
        for policy in &mut self.custom {
            match catch_unwind(AssertUnwindSafe(|| policy.on_event(event))) {
                Ok(answer) => block = block.or(answer),
                Err(_) => failed = true,
            }
        }
        if failed {
            self.shared.halt(RejectCode::KillSwitchArmed);
        }
        if let (Some(cause), Some(account)) = (block, account)
            && let Some(number) = self.accounts.find(account.0)
        {
            self.latch(number, cause);
        }
        failed
    }
}

const fn failed(policy: u8) -> Reject {
    Reject {
        code: RejectCode::PolicyFailed,
        detail: 0,
        policy: PolicyId(PolicyId::FIRST_CUSTOM.0 + policy),
        scope: RejectScope::Account,
    }
}
