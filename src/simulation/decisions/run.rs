//! A simulation from its making to what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;
use std::time::Duration;

use super::acts::faults;
use super::config::{DecisionsConfig, DecisionsSimulated};
use super::ledger::Ledger;
use super::system::{START, System, near};
use crate::orders::Code;
use crate::orders::executor::Answer;
use crate::orders::venue::VenueEvent;
use crate::shard::authority::{Decided, Deciding, Undecided};
use crate::simulation::SimulationError;
use crate::simulation::dice::Dice;
use crate::simulation::trace::Trace;
use crate::time::Clock as _;
use crate::types::{AccountId, ClientOrderId, ClientReference};

/// What must not be, in a sentence.
pub(super) type Checked = Result<(), String>;

/// A decision that an agent was given.
pub(super) struct Issued {
    pub(super) id: ClientOrderId,
    pub(super) body: String,
    pub(super) account: AccountId,
}

/// What a request to the executor was.
#[derive(Clone, Copy, Debug)]
pub(super) enum About {
    /// A decision as it was signed.
    Order(ClientOrderId),
    /// One that was changed on its way.
    Altered,
    /// By another agent than it was signed for.
    Stolen,
    Cancel,
}

/// See the module.
pub(super) struct Simulation {
    pub(super) system: System,
    pub(super) dice: Dice,
    pub(super) outcome: DecisionsSimulated,
    /// Questions to the authorizer, and in which life of the shards.
    pub(super) asked: Vec<(Deciding, u64)>,
    pub(super) issued: Vec<Issued>,
    /// Requests that this life of the executor has not answered.
    pub(super) requests: BTreeMap<u64, About>,
    next_request: u64,
    /// Orders whose intents were acknowledged.
    pub(super) acknowledged: BTreeSet<ClientOrderId>,
    /// The shards' own orders.
    pub(super) own: Vec<(AccountId, ClientReference)>,
    pub(super) references: u64,
    pub(super) market_orders: u64,
    /// Executions that no order had room for.
    pub(super) extras: Vec<VenueEvent>,
    pub(super) busted: BTreeSet<ClientOrderId>,
    /// A plain model of each shard.
    pub(super) ledgers: Vec<Ledger>,
    /// Every identity that was ever minted, with its decision's name.
    pub(super) minted: BTreeMap<ClientOrderId, String>,
    /// Submits of the executor, and of each shard, that were looked at.
    pub(super) submits_checked: Vec<usize>,
    /// The shards were killed since it was looked at what they have.
    pub(super) may_have_lost: bool,
    trace: Trace,
}

/// Runs a simulation; `sink` takes the trace, a line for everything that happens.
///
/// # Errors
/// A setting is out of its range, or the trace cannot be written. What must not
/// be is no error, but in what came of it.
pub fn simulate_decisions(
    config: &DecisionsConfig,
    sink: Option<Box<dyn Write>>,
) -> Result<DecisionsSimulated, SimulationError> {
    config.check()?;
    let mut simulation = Simulation::new(config.seed, sink)?;
    let done = simulation.run(config.steps);
    let mut outcome = simulation.outcome;
    if let Err(violation) = done {
        simulation.trace.note(
            simulation.system.clock.now(),
            format_args!("violation: {violation}"),
        );
        outcome.violation = Some(violation);
    }
    let finished = simulation.trace.finish();
    (outcome.lines, outcome.hash) = finished.map_err(SimulationError::Trace)?;
    Ok(outcome)
}

impl Simulation {
    fn new(seed: u64, sink: Option<Box<dyn Write>>) -> Result<Self, SimulationError> {
        let mut dice = Dice::new(seed);
        let mut far = near();
        far.seed = dice.seed();
        far.capabilities.settle_time = Duration::from_secs(5);
        far.faults = faults(&mut dice, START);
        let system = System::new(&mut dice, far)?;
        let seats = system.seats.len();
        Ok(Self {
            system,
            dice,
            outcome: DecisionsSimulated::default(),
            asked: Vec::new(),
            issued: Vec::new(),
            requests: BTreeMap::new(),
            next_request: 0,
            acknowledged: BTreeSet::new(),
            own: Vec::new(),
            references: 0,
            market_orders: 0,
            extras: Vec::new(),
            busted: BTreeSet::new(),
            ledgers: (0..seats).map(|_| Ledger::default()).collect(),
            minted: BTreeMap::new(),
            submits_checked: vec![0; seats + 1],
            may_have_lost: false,
            trace: Trace::new(sink),
        })
    }

    fn run(&mut self, steps: u64) -> Checked {
        for _ in 0..steps {
            self.act()?;
            self.settle()?;
            self.check()?;
        }
        self.converge()?;
        self.tally();
        Ok(())
    }

    fn tally(&mut self) {
        self.outcome.sent = self.system.venue.sent() as u64;
        let seats = &self.system.seats;
        self.outcome.own_sent = seats.iter().map(|seat| seat.venue.sent() as u64).sum();
        self.outcome.settled = self.ledgers.iter().map(|own| own.told.len() as u64).sum();
    }

    pub(super) fn note(&mut self, what: fmt::Arguments<'_>) {
        self.trace.note(self.system.clock.now(), what);
    }

    pub(super) fn request(&mut self, about: About) -> u64 {
        self.next_request += 1;
        self.requests.insert(self.next_request, about);
        self.next_request
    }

    /// Turns until nothing is due, and hears what was answered.
    pub(super) fn settle(&mut self) -> Checked {
        if !self.system.settle() {
            return Err("the system does not come to rest".to_owned());
        }
        self.hear()
    }

    pub(super) fn pass(&mut self, time: Duration) -> Checked {
        self.pass_by(Duration::from_millis(20).max(time / 40), time)
    }

    pub(super) fn pass_by(&mut self, step: Duration, time: Duration) -> Checked {
        if !self.system.pass(step, time) {
            return Err("the system does not come to rest".to_owned());
        }
        self.hear()
    }

    fn hear(&mut self) -> Checked {
        for answer in core::mem::take(&mut self.system.answers) {
            self.hear_answer(answer)?;
        }
        self.hear_decisions()
    }

    fn hear_answer(&mut self, Answer { request, result }: Answer) -> Checked {
        let told = result.as_ref().map(|view| view.state);
        let told = told.map_err(|refusal| refusal.code);
        self.note(format_args!("answer {request}: {told:?}"));
        let Some(about) = self.requests.remove(&request) else {
            return Err(format!("I5: request {request} was answered twice"));
        };
        self.outcome.refused += u64::from(told.is_err());
        let is_fair = match about {
            About::Order(id) => {
                if told.is_ok() {
                    self.acknowledged.insert(id);
                }
                !matches!(told, Err(Code::BadSignature | Code::BadDecision))
            }
            About::Altered => matches!(told, Err(Code::BadSignature | Code::BadDecision)),
            About::Stolen => matches!(told, Err(Code::AgentUnknown)),
            About::Cancel => true,
        };
        if is_fair {
            return Ok(());
        }
        Err(format!(
            "request {request} ({about:?}) was answered {told:?}"
        ))
    }

    fn hear_decisions(&mut self) -> Checked {
        let life = self.system.starts;
        let mut waiting = Vec::new();
        for (mut deciding, asked_in) in core::mem::take(&mut self.asked) {
            match deciding.try_take() {
                None if asked_in < life => {
                    return Err("I5: a question to shards that are gone hangs".to_owned());
                }
                None => waiting.push((deciding, asked_in)),
                Some(Err(Undecided::NotThere)) if asked_in < life => self.outcome.lost += 1,
                Some(Err(error)) => return Err(format!("I5: no decision: {error}")),
                Some(Ok(Decided::Denied(_))) => self.outcome.denied += 1,
                Some(Ok(Decided::Allowed(allowed))) => {
                    let Some(grant) = &allowed.decision.grant else {
                        return Err("O1: an allowed decision has no identity".to_owned());
                    };
                    let id = grant.client_order_id;
                    self.note(format_args!(
                        "decision {id} {}",
                        allowed.decision.decision_id
                    ));
                    self.outcome.allowed += 1;
                    self.issued.push(Issued {
                        id,
                        body: allowed.body,
                        account: allowed.decision.account_id,
                    });
                }
            }
        }
        self.asked = waiting;
        Ok(())
    }

    /// The models are made again from what the journals have.
    pub(super) fn forget_ledgers(&mut self) {
        self.may_have_lost = true;
        self.ledgers.fill_with(Ledger::default);
    }
}
