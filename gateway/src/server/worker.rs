//! The state of one I/O thread: its seats, its path, and what passes between.

use core::cell::RefCell;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use pitlane::shard::{DROP_COPY_PORT, RECOVERED_PORT};
use pitlane::time::{Clock, SystemClock};
use pitlane::types::{Origin, Report};

use super::caps::{Cap, Place};
use super::seat::{Seat, SeatId, Stage};
use super::stats::{ServerStats, StatCells};
use super::{OrderPath, ServerConfig};
use crate::session::{At, Counts, CredentialId, EndedBy, Outbound, Rules, Session};
use crate::wire::TerminateReason;

/// Turns of the core, and drains, in one go: beyond it the rest is left to the
/// pump, so that other connections get their turn.
const ROUNDS_MAX: usize = 16;

/// One I/O thread; shared by its tasks.
pub(super) struct Worker<P> {
    inner: RefCell<Inner<P>>,
    pub(super) config: ServerConfig,
    rules: Arc<Rules>,
    clock: SystemClock,
    port: u16,
    connections: Arc<Cap>,
    logons: Arc<Cap>,
    cells: Arc<StatCells>,
}

struct Inner<P> {
    path: P,
    seats: Vec<Option<Seat>>,
    /// Empty seats, the longest empty first, so that a number is used again as
    /// late as can be.
    free: VecDeque<SeatId>,
    /// Where each credential's established session is.
    by_credential: HashMap<CredentialId, u16, RandomState>,
    /// Seats of sessions that have copies of reports.
    copiers: Vec<u16>,
    dirty: Vec<u16>,
    counts: Counts,
    stats: ServerStats,
    /// Whether the path had more when the rounds were over.
    has_more: bool,
    pump: Option<Waker>,
}

/// What all threads of a server share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) config: ServerConfig,
    pub(super) rules: Arc<Rules>,
    pub(super) clock: SystemClock,
    pub(super) connections: Arc<Cap>,
    pub(super) logons: Arc<Cap>,
}

impl<P: OrderPath> Worker<P> {
    pub(super) fn new(shared: Shared, port: u16, cells: Arc<StatCells>, path: P) -> Self {
        Self {
            inner: RefCell::new(Inner {
                path,
                seats: Vec::new(),
                free: VecDeque::new(),
                by_credential: HashMap::default(),
                copiers: Vec::new(),
                dirty: Vec::new(),
                counts: Counts::default(),
                stats: ServerStats::default(),
                has_more: false,
                pump: None,
            }),
            config: shared.config,
            rules: shared.rules,
            clock: shared.clock,
            port,
            connections: shared.connections,
            logons: shared.logons,
            cells,
        }
    }

    fn at(&self) -> At {
        At {
            now: self.clock.now(),
            wall: self.clock.wall(),
        }
    }

    /// Seats a new connection; `None` where a cap is reached, or the system has
    /// no random bytes.
    pub(super) fn seat(&self) -> Option<SeatId> {
        let inner = &mut *self.inner.borrow_mut();
        inner.stats.accepted += 1;
        let seated = self.places().and_then(|(place, logon_place)| {
            let mut nonce = [0; 32];
            getrandom::fill(&mut nonce).ok()?;
            let id = inner.free_seat()?;
            let origin = Origin {
                port: self.port,
                credential: 0,
                session: id.to_session(),
            };
            let mut out = Outbound::new(self.config.outbound_max);
            let rules = Arc::clone(&self.rules);
            let session = Session::open(rules, origin, nonce, self.at(), &mut out);
            inner.seats[usize::from(id.index)] = Some(Seat {
                generation: id.generation,
                session,
                out,
                spare: Vec::new(),
                waker: None,
                is_dirty: false,
                is_aborted: false,
                is_end_counted: false,
                credential: None,
                logon_place: Some(logon_place),
                _place: place,
            });
            inner.stats.connections += 1;
            Some(id)
        });
        if seated.is_none() {
            inner.stats.turned_away += 1;
        }
        seated
    }

    fn places(&self) -> Option<(Place, Place)> {
        Some((self.connections.take()?, self.logons.take()?))
    }

    /// Counts a pause of accepting.
    pub(super) fn count_accept_pause(&self) {
        self.inner.borrow_mut().stats.accept_pauses += 1;
    }

    /// Reads what a connection brought: its orders go to the core as one chunk,
    /// and the answers that are there leave in one write. Returns how many bytes
    /// it is done with.
    pub(super) fn receive(&self, id: SeatId, bytes: &[u8]) -> usize {
        let at = self.at();
        let inner = &mut *self.inner.borrow_mut();
        let commands = inner.counts.commands;
        let Some(seat) = seat_of(&mut inner.seats, id) else {
            return bytes.len();
        };
        let path = &mut inner.path;
        let done = seat
            .session
            .receive(bytes, at, &mut seat.out, &mut inner.counts, |command| {
                path.submit(command)
            });
        inner.note_phase(id);
        if inner.counts.commands != commands {
            inner.path.flush();
            self.exchange(inner, at);
        }
        // Its own task is the one that runs.
        inner.wake_dirty(Some(id.index));
        done
    }

    /// The connection's next write, if none is in flight and there is one.
    pub(super) fn next_write(&self, id: SeatId) -> Option<Vec<u8>> {
        let inner = &mut *self.inner.borrow_mut();
        let seat = seat_of(&mut inner.seats, id)?;
        if !seat.out.is_ready() {
            return None;
        }
        let spare = core::mem::take(&mut seat.spare);
        Some(seat.out.take(spare))
    }

    /// The write is done; its buffer comes back.
    pub(super) fn wrote(&self, id: SeatId, buffer: Vec<u8>) {
        let inner = &mut *self.inner.borrow_mut();
        if let Some(seat) = seat_of(&mut inner.seats, id) {
            seat.spare = buffer;
            seat.out.written();
        }
    }

    /// What the connection's task should do; it is woken when that changes.
    pub(super) fn stage(&self, id: SeatId, context: &Context<'_>) -> Stage {
        let inner = &mut *self.inner.borrow_mut();
        let Some(seat) = seat_of(&mut inner.seats, id) else {
            return Stage::Abort;
        };
        match &mut seat.waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => seat.waker = Some(context.waker().clone()),
        }
        seat.stage()
    }

    /// The client's end of the connection is gone.
    pub(super) fn lose(&self, id: SeatId) {
        let now = self.clock.now();
        let inner = &mut *self.inner.borrow_mut();
        if let Some(seat) = seat_of(&mut inner.seats, id) {
            seat.session.lose(now, &mut seat.out);
            inner.note_phase(id);
        }
    }

    /// The connection is closed.
    pub(super) fn leave(&self, id: SeatId) {
        let inner = &mut *self.inner.borrow_mut();
        if seat_of(&mut inner.seats, id).is_some() {
            inner.seats[usize::from(id.index)] = None;
            inner.free.push_back(SeatId {
                generation: id.generation.wrapping_add(1),
                ..id
            });
            inner.stats.connections -= 1;
        }
    }

    /// Looks at every deadline, publishes the counts, and gives the core a turn:
    /// where it runs on this thread, its venue and its own deadlines have no
    /// other way to be looked at while no client speaks.
    pub(super) fn tick(&self) {
        let at = self.at();
        let now = at.now;
        let grace = self.rules.timing.close_grace;
        let inner = &mut *self.inner.borrow_mut();
        for index in 0..inner.seats.len() {
            let Some(seat) = &mut inner.seats[index] else {
                continue;
            };
            let before = (seat.out.queued(), seat.session.ending().is_some());
            seat.session.tick(now, &mut seat.out);
            let ending = seat.session.ending();
            if ending.is_some_and(|ending| now >= ending.at.after(grace)) {
                seat.is_aborted = true;
            }
            if seat.is_aborted || before != (seat.out.queued(), ending.is_some()) {
                inner.note_phase_at(index);
                inner.mark_dirty(index);
            }
        }
        self.exchange(inner, at);
        inner.wake_dirty(None);
        self.publish(inner);
    }

    fn publish(&self, inner: &Inner<P>) {
        self.cells.publish(&inner.stats.with_counts(&inner.counts));
    }

    /// Ready when the pump has something to do.
    pub(super) fn poll_pump(&self, context: &mut Context<'_>) -> Poll<()> {
        let inner = &mut *self.inner.borrow_mut();
        if inner.has_more {
            return Poll::Ready(());
        }
        match &mut inner.pump {
            Some(waker) => waker.clone_from(context.waker()),
            None => inner.pump = Some(context.waker().clone()),
        }
        inner.path.poll_ready(context)
    }

    /// Fetches reports that came on their own.
    pub(super) fn pump(&self) {
        let at = self.at();
        let inner = &mut *self.inner.borrow_mut();
        self.exchange(inner, at);
        inner.wake_dirty(None);
    }

    /// Turns the core and passes its reports on, until neither has more or the
    /// rounds are over.
    fn exchange(&self, inner: &mut Inner<P>, at: At) {
        let budget = self.config.report_budget;
        for _ in 0..ROUNDS_MAX {
            let has_more = inner.path.turn();
            let drained = inner.drain(budget, self.port, at);
            inner.has_more = has_more || drained == budget;
            if !inner.has_more {
                return;
            }
        }
        if let Some(pump) = &inner.pump {
            pump.wake_by_ref();
        }
    }

    /// New orders and replaces are refused from now on, in every session.
    pub(super) fn refuse_new_work(&self) {
        let inner = &mut *self.inner.borrow_mut();
        for seat in inner.seats.iter_mut().flatten() {
            seat.session.refuse_new_work();
        }
    }

    /// Commands that the core has not answered.
    pub(super) fn in_flight(&self) -> u64 {
        let inner = self.inner.borrow();
        inner
            .seats
            .iter()
            .flatten()
            .filter(|seat| seat.session.ending().is_none())
            .map(|seat| u64::from(seat.session.in_flight()))
            .sum()
    }

    /// Ends every session; how many there were.
    pub(super) fn terminate_all(&self) -> u64 {
        let now = self.clock.now();
        let inner = &mut *self.inner.borrow_mut();
        let mut told = 0;
        for index in 0..inner.seats.len() {
            let Some(seat) = &mut inner.seats[index] else {
                continue;
            };
            told += u64::from(seat.session.established().is_some());
            seat.session
                .terminate(TerminateReason::GatewayStopping, now, &mut seat.out);
            inner.note_phase_at(index);
            inner.mark_dirty(index);
        }
        inner.wake_dirty(None);
        told
    }

    /// Connections that there are, and those of them that have something left
    /// to read.
    pub(super) fn remaining(&self) -> (u64, u64) {
        let inner = self.inner.borrow();
        let seats = inner.seats.iter().flatten();
        seats.fold((0, 0), |(all, unread), seat| {
            (all + 1, unread + u64::from(seat.out.queued() > 0))
        })
    }

    /// Shuts every connection down.
    pub(super) fn abort_all(&self) {
        let inner = &mut *self.inner.borrow_mut();
        for index in 0..inner.seats.len() {
            if let Some(seat) = &mut inner.seats[index] {
                seat.is_aborted = true;
                inner.mark_dirty(index);
            }
        }
        inner.wake_dirty(None);
    }

    /// The last publication of the counts.
    pub(super) fn finish(&self) {
        self.publish(&self.inner.borrow());
    }
}

impl<P: OrderPath> Inner<P> {
    /// A seat that nobody has; `None` when all 65,536 are taken.
    fn free_seat(&mut self) -> Option<SeatId> {
        if let Some(id) = self.free.pop_front() {
            return Some(id);
        }
        let index = u16::try_from(self.seats.len()).ok()?;
        self.seats.push(None);
        Some(SeatId {
            index,
            generation: 0,
        })
    }

    fn drain(&mut self, budget: usize, port: u16, at: At) -> usize {
        let Self {
            path,
            seats,
            by_credential,
            copiers,
            dirty,
            counts,
            stats,
            ..
        } = self;
        path.drain(budget, &mut |report| {
            if report.origin.port == DROP_COPY_PORT {
                for &index in &*copiers {
                    if let Some(seat) = &mut seats[usize::from(index)]
                        && seat.session.copy(report, at.now, &mut seat.out, counts)
                        && !seat.is_dirty
                    {
                        seat.is_dirty = true;
                        dirty.push(index);
                    }
                }
                return;
            }
            let Some((index, is_own)) = reader_of(seats, by_credential, port, report) else {
                // Of an order of an earlier run every I/O thread hears.
                stats.undelivered += u64::from(report.origin.port != RECOVERED_PORT);
                return;
            };
            let Some(seat) = &mut seats[usize::from(index)] else {
                return;
            };
            seat.session
                .report(report, is_own, at.now, &mut seat.out, counts);
            if !seat.is_dirty {
                seat.is_dirty = true;
                dirty.push(index);
            }
        })
    }

    fn mark_dirty(&mut self, index: usize) {
        if let (Some(seat), Ok(number)) = (&mut self.seats[index], u16::try_from(index))
            && !seat.is_dirty
        {
            seat.is_dirty = true;
            self.dirty.push(number);
        }
    }

    /// Wakes the tasks of those that have something to write, once each.
    fn wake_dirty(&mut self, running: Option<u16>) {
        while let Some(index) = self.dirty.pop() {
            self.note_phase_at(usize::from(index));
            let Some(seat) = &mut self.seats[usize::from(index)] else {
                continue;
            };
            seat.is_dirty = false;
            if Some(index) != running
                && let Some(waker) = &seat.waker
            {
                waker.wake_by_ref();
            }
        }
    }

    fn note_phase(&mut self, id: SeatId) {
        self.note_phase_at(usize::from(id.index));
    }

    /// Books that a session has become established, or has ended.
    fn note_phase_at(&mut self, index: usize) {
        let Some(seat) = self.seats.get_mut(index).and_then(Option::as_mut) else {
            return;
        };
        let Ok(number) = u16::try_from(index) else {
            return;
        };
        if seat.credential.is_none()
            && let Some(credential) = seat.session.established()
        {
            seat.credential = Some(credential);
            seat.logon_place = None;
            self.by_credential.insert(credential, number);
            if seat.session.takes_copies() {
                self.copiers.push(number);
            }
        }
        let Some(ending) = seat.session.ending() else {
            return;
        };
        if seat.is_end_counted {
            return;
        }
        seat.is_end_counted = true;
        self.copiers.retain(|&one| one != number);
        if let Some(credential) = seat.credential
            && self.by_credential.get(&credential) == Some(&number)
        {
            self.by_credential.remove(&credential);
        }
        match (ending.by, ending.reason) {
            (EndedBy::Loss, _) => self.stats.lost += 1,
            (EndedBy::Client, _) | (_, TerminateReason::GatewayStopping) => {}
            (_, TerminateReason::SlowReader) => self.stats.slow_readers += 1,
            _ => self.stats.faulted += 1,
        }
    }
}

fn seat_of(seats: &mut [Option<Seat>], id: SeatId) -> Option<&mut Seat> {
    seats
        .get_mut(usize::from(id.index))?
        .as_mut()
        .filter(|seat| seat.generation == id.generation)
}

/// Who reads a report: the session that sent the command, or else the one that
/// its credential has now; and whether it is the former.
fn reader_of(
    seats: &[Option<Seat>],
    by_credential: &HashMap<CredentialId, u16, RandomState>,
    port: u16,
    report: &Report,
) -> Option<(u16, bool)> {
    let id = SeatId::from_session(report.origin.session);
    let is_there = |seat: &Seat| {
        seat.generation == id.generation
            && seat.credential == Some(CredentialId(report.origin.credential))
            && seat.session.ending().is_none()
    };
    let seat = seats.get(usize::from(id.index)).and_then(Option::as_ref);
    if report.origin.port == port && seat.is_some_and(is_there) {
        return Some((id.index, true));
    }
    by_credential
        .get(&CredentialId(report.origin.credential))
        .map(|&index| (index, false))
}
