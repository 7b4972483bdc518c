//! Every bound in one place: what it is, why, and how the bounds relate.

/// Messages that a ring from one submitter to one shard holds. A power of two;
/// 4,096 is where chunked transfers stop gaining (rule L3).
pub const RING_CAPACITY: usize = 4_096;

/// Ring slots that new orders may not take, so that facts (reports,
/// finalizations) still find room when orders are refused (rule L12).
pub const RING_FACT_RESERVE: usize = 256;

/// Messages that a key's queue holds in the dynamic strategy (rule L3).
pub const QUEUE_CAPACITY: usize = 1_024;

/// Places of a queue that new orders may not take (rule L12).
pub const QUEUE_FACT_RESERVE: usize = 64;

/// Queues of the dynamic strategy for each CPU, unless configured (rule L3).
pub const QUEUES_PER_CPU: usize = 32;

/// Operations of one queue that a worker runs before other queues get a turn.
pub const QUEUE_BATCH_MAX: usize = 64;

/// Queues that a worker takes from the common list at once; idle workers steal
/// them back.
pub const QUEUES_TAKEN_MAX: usize = 32;

/// Queues that a dynamic submitter finds without the common table.
pub const QUEUES_REMEMBERED_MAX: usize = 4_096;

/// Drivers of retired queues that are kept for their keys; beyond it, orders of
/// unknown keys are refused (`QueueLimit`).
pub const KEPT_CELLS_MAX: usize = 1 << 20;

/// The most messages that one turn takes from the rings before it looks at
/// everything else that a shard must do.
pub const BATCH_MAX: usize = 256;

/// Completion slots of one submitter: operations in flight whose result has not
/// been taken.
pub const COMPLETION_SLOTS: usize = 4_096;

/// The part of a submitter's completion slots that may stand behind chains that
/// wait, one in so many, over all shards: the fact which ends a wait still finds
/// a slot then (rule L35).
pub const CHAIN_PARKED_SHARE: usize = 2;

/// The part of a lane's places behind waiting chains that one account may take,
/// one in so many.
pub const CHAIN_LINE_SHARE: usize = 4;

/// The longest that a chain may wait in one step (rule L35).
pub const CHAIN_WAIT_MAX: core::time::Duration = core::time::Duration::from_secs(24 * 3_600);

/// Chains that wait in one lane; the next fails.
pub const CHAIN_WAITS_MAX: u32 = 4_096;

/// Completions from other threads that wait for the chains of one lane.
pub const CHAIN_INBOX_MAX: usize = 1_024;

/// Submitters that a lane knows at once.
pub const SUBMITTERS_MAX: usize = 64;

/// Shards of one process: ids are `u16`, and more workers than this have no
/// machine to run on.
pub const SHARDS_MAX: usize = 256;

/// Reports waiting for one I/O thread; it always drains, so this covers one
/// turn's worst burst.
pub const REPORT_RING_CAPACITY: usize = 16_384;

/// Instruments of a simulated venue: a book's index is a `u16`.
pub const SIM_VENUE_INSTRUMENTS_MAX: usize = 65_536;

/// Orders that rest at a simulated venue at once, at most: a slot's index is a
/// `u32`, and these already take 1.3 GB.
pub const SIM_VENUE_ORDERS_MAX: usize = 1 << 24;

/// Orders that rest at a simulated venue at once, unless configured.
pub const SIM_VENUE_ORDERS_DEFAULT: usize = 65_536;

/// Events of a simulated venue that wait to be polled, at least: a step of an
/// auction makes up to four.
pub const SIM_VENUE_EVENTS_MIN: usize = 8;

/// Events of a simulated venue that wait to be polled, at most.
pub const SIM_VENUE_EVENTS_MAX: usize = 1 << 20;

/// Events of a simulated venue that wait to be polled, unless configured: every
/// order of a full ring may make two executions, an acknowledgement and an end.
pub const SIM_VENUE_EVENTS_DEFAULT: usize = 16_384;

/// Phase changes that wait for a simulated venue; they are a person's acts.
pub const SIM_VENUE_REQUESTS_MAX: usize = 16;

/// Messages on their way to or from a simulated distant venue; beyond it what
/// is sent waits with its sender, and what comes back is lost.
pub const DISTANT_LINE_MAX: usize = 1 << 20;

/// Orders that a simulated distant venue remembers, unless configured.
pub const DISTANT_RECORDS_MAX: usize = 1 << 20;

/// Commands that an I/O thread keeps for shards whose rings are full, before
/// it refuses new ones: one read's worth of the smallest frames.
pub const STAGED_COMMANDS_MAX: usize = 2_048;

/// Orders, cancels and replaces on their way from one shard to a hosted venue.
pub const VENUE_REQUEST_RING_CAPACITY: usize = 4_096;

/// Events on their way from a hosted venue to one shard: an order that sweeps
/// the book has more events than requests.
pub const VENUE_EVENT_RING_CAPACITY: usize = 16_384;

/// Venue events that are settled after one command before the next is looked
/// at; more wait for the driver's turn.
pub const VENUE_EVENTS_MAX: usize = 256;

/// Bytes of one line of a recorded order flow; six short columns need 100.
pub const FLOW_LINE_BYTES_MAX: usize = 1_024;

/// Orders of a recorded flow that are open at once, and followed.
pub const FLOW_ORDERS_MAX: usize = 1 << 20;

/// Fills of a recorded flow that are compared, summed by order and price; as
/// many again are kept of ours.
pub const FLOW_FILLS_MAX: usize = 1 << 22;

/// Fills that differ and are told one by one.
pub const FLOW_DIFFERENCES_MAX: usize = 20;

const _: () = {
    assert!(SIM_VENUE_ORDERS_MAX < (1 << 30), "the id index doubles it");
    assert!(SIM_VENUE_INSTRUMENTS_MAX - 1 <= u16::MAX as usize);
    assert!(SIM_VENUE_EVENTS_DEFAULT >= RING_CAPACITY * 4);
};
/// Rejects that one order can be given: what every built-in policy can say, and
/// room for custom ones; a configuration that could say more is refused when
/// the engine is built (rule K2).
pub const REJECTS_MAX: usize = 20;

/// Orders and requests that one shard holds at once; the next is refused with
/// `CapacityExceeded`. 512 bytes each is 8 GiB, more than a shard's share.
pub const OPEN_ORDERS_MAX: usize = 1 << 24;

/// Accounts that one shard knows: 256 bytes each is 4 GiB.
pub const ACCOUNTS_MAX: usize = 1 << 24;

/// The largest count that a rate limit can have: its log of as many time
/// stamps takes 8 MiB.
pub const RATE_LIMIT_MAX: u32 = 1 << 20;

/// The least time stamps that a log shared by all shards has room for, so that
/// a limit can be raised while the engine runs.
pub const SHARED_RATE_SLOTS_MIN: u32 = 4_096;

/// Fill ids that a shard remembers to recognize a repeated one; the oldest is
/// forgotten first (rule K28).
pub const FILL_IDS_MAX: usize = 1 << 16;

/// Orders that the duplicate check of one shard remembers; beyond it an order
/// is refused with `CapacityExceeded` (rule K21).
pub const DUPLICATE_LOG_MAX: usize = 1 << 20;

/// Mutations that custom policies can register for one order (rule K25).
pub const MUTATIONS_MAX: usize = 8;

/// Custom policies of one engine (rule K25).
pub const CUSTOM_POLICIES_MAX: usize = 8;

/// Legs of fills that could not be booked, kept until a person takes them; the
/// oldest is dropped from the list, and counted, beyond it (rule K9).
pub const QUARANTINE_MAX: usize = 4_096;

/// Cancels that the engine asks for and the shard has not yet taken.
pub const CANCELS_MAX: usize = 1 << 16;

/// Adjustments in one batch (rule K29).
pub const ADJUSTMENTS_MAX: usize = 4_096;

/// Units that one dispatcher retains at once: queued callbacks, captures of
/// invocation batches and reserved capacity of batches (rule R45). A fuse
/// against runaway retention, no sizing advice.
pub const DISPATCH_UNITS_MAX: usize = 65_536;

/// Known bytes that one dispatcher retains at once (rules R45, R46).
pub const DISPATCH_BYTES_MAX: usize = 64 << 20;

/// Completed deliveries of one root; the next latches a runaway (rule R32).
pub const DISPATCH_DELIVERIES_MAX: u32 = 1_048_576;

/// Slots that one drain pass of a runtime takes before inputs and a stop get
/// their turn (rule R78).
pub const DISPATCH_PASS: usize = 64;

/// Callbacks of a shard that may wait before its next input waits for a pass:
/// one input makes at most some hundreds, so that the fuse is never met.
pub const SHARD_CALLBACKS_HIGH: usize = 4_096;

/// Passes that a shard makes in one turn; what is left waits for the next.
pub const SHARD_CALLBACK_PASSES: usize = 64;

/// Components of one dispatcher.
pub const DISPATCH_COMPONENTS_MAX: usize = 4_096;

/// Topics of one dispatcher.
pub const DISPATCH_TOPICS_MAX: usize = 1_024;

/// Subscriptions of one topic: every component may have one, and the direct
/// subscribers as many again.
pub const DISPATCH_SUBSCRIBERS_MAX: usize = 4_096;

/// A simulation's time, in seconds: a day.
pub const SIMULATED_SECONDS_MAX: u64 = 86_400;

/// A simulation's accounts.
pub const SIMULATED_ACCOUNTS_MAX: u64 = 10_000;

/// A simulation's new orders a second.
pub const SIMULATED_RATE_MAX: u64 = 100_000;

/// Things that happen in a simulation of decisions.
pub const SIMULATED_STEPS_MAX: u64 = 100_000;

/// Alarms that wait to be read; later ones are counted, not kept.
pub const DISPATCH_ALARMS_MAX: usize = 256;

/// Commands that wait in one command queue. A send beyond it is kept, as rule
/// R59 demands, and latches an overflow, so that the loop ends.
pub const DISPATCH_COMMANDS_MAX: usize = 1 << 20;

/// Messages that one event channel of a dispatcher may be made for.
pub const DISPATCH_CHANNEL_MAX: usize = 1 << 20;

/// Timers of one dispatcher's timer table.
pub const DISPATCH_TIMERS_MAX: usize = 65_536;

/// Settlement rounds of a simulation at one input or timer: commands that only
/// send commands charge no root, so they need a fuse of their own.
pub const DISPATCH_SETTLE_ROUNDS_MAX: u64 = 1 << 20;

/// How long a live loop lets a callback wait for a held resource before the
/// head counts as stalled, in nanoseconds.
pub const DISPATCH_HOLD_WAIT_NANOS_MAX: u64 = 1_000_000_000;

const _: () = {
    assert!(DISPATCH_PASS <= DISPATCH_UNITS_MAX);
    assert!(
        DISPATCH_UNITS_MAX < u32::MAX as usize,
        "a slot's index is a u32"
    );
    assert!(
        DISPATCH_COMPONENTS_MAX <= DISPATCH_UNITS_MAX,
        "one publication may reach every component"
    );
};

const _: () = {
    assert!(
        SHARED_RATE_SLOTS_MIN.is_power_of_two() && RATE_LIMIT_MAX.is_power_of_two(),
        "a shared log is indexed by a mask"
    );
    assert!(RING_CAPACITY.is_power_of_two());
    assert!(
        RING_FACT_RESERVE >= BATCH_MAX,
        "a turn's facts must fit beside a full order ring"
    );
    assert!(RING_CAPACITY > RING_FACT_RESERVE * 2);
    assert!(
        COMPLETION_SLOTS <= RING_CAPACITY,
        "a taken slot has a place in the ring"
    );
    assert!(
        VENUE_EVENT_RING_CAPACITY >= VENUE_REQUEST_RING_CAPACITY,
        "every request can be answered"
    );
    assert!(
        REPORT_RING_CAPACITY >= RING_CAPACITY,
        "every command can be answered"
    );
};

/// The longest frame that the gateway reads, headers included: the largest
/// message takes 160 bytes, and newer ones may be longer (rule G6).
pub const FRAME_MAX: usize = 1_024;

/// The smallest read buffer of a connection: one read must bring many orders.
pub const READ_BUFFER_MIN: usize = 16 * 1_024;

const _: () = assert!(
    READ_BUFFER_MIN >= FRAME_MAX * 2,
    "behind a partial frame there is room for a whole one"
);

/// The most that is read of a configuration file: some 100,000 entries, more
/// than a person writes; accounts by the million have a `count`.
pub const CONFIG_BYTES_MAX: u64 = 16 << 20;

/// Problems of a configuration that are listed; a file with more is not mended
/// from a list.
pub const CONFIG_PROBLEMS_MAX: usize = 200;

/// Characters of an asset's or an instrument's name in a configuration.
pub const CONFIG_NAME_MAX: usize = 32;

/// CPU numbers that a configuration may name: those that Linux itself can have.
pub const CPU_ID_MAX: u16 = 8_191;

/// Bytes of a step's body, of a loop's body, or of the values that one step
/// passes to the next, that are kept in place; what is larger is boxed. Eight
/// words hold a few handles, an id and an amount.
pub const STEP_INLINE_BYTES: usize = 64;

/// Bytes of an error or cancel handler that are kept in place.
pub const STEP_INLINE_HANDLER_BYTES: usize = 48;

/// Bytes of a future that a pooled block holds; larger ones are boxed.
pub const STEP_FUTURE_BYTES: usize = 256;

/// Steps that one flow runs in a turn before the others get theirs (rule S17).
pub const STEP_BURST: u32 = 100;

/// Time, in nanoseconds, after which a burst is cut, at the next reading of the
/// clock (rule S17).
pub const STEP_BURST_NANOS: u64 = 1_000_000;

/// Steps between two readings of the clock within a burst (rule S17): at 30 ns a
/// reading, it costs each step 2 ns.
pub const STEP_CLOCK_EVERY: u32 = 16;

/// Step frames of one event loop: some 300 MiB, reached only by a runaway.
pub const STEP_FRAMES_MAX: u32 = 1 << 20;

/// Step instances of one event loop, running or being built.
pub const STEP_ROOTS_MAX: u32 = 1 << 18;

/// Flows of one event loop: every root, and every child of a parallel step.
pub const STEP_FLOWS_MAX: u32 = 1 << 19;

/// Callbacks that wait in one event loop, immediate and deferred.
pub const STEP_TASKS_MAX: u32 = 1 << 16;

/// Time limits and deferred callbacks of one event loop.
pub const STEP_TIMERS_MAX: u32 = 1 << 20;

/// Values that steps of one event loop allocated for themselves.
pub const STEP_LOCALS_MAX: u32 = 1 << 20;

/// Futures that steps of one event loop await at once: a bit each to wake by.
pub const STEP_FUTURES_MAX: u32 = 1 << 14;

/// Completions from other threads that wait for one event loop.
pub const STEP_INBOX_MAX: usize = 4_096;

/// Keys in the state of one step instance; they are searched one by one.
pub const STEP_STATE_KEYS_MAX: usize = 64;

/// Flows that wait for one account's lane.
pub const STEP_LANE_QUEUE_MAX: usize = 4_096;

const _: () = {
    assert!(STEP_INLINE_BYTES >= STEP_INLINE_HANDLER_BYTES);
    assert!(
        STEP_BURST > STEP_CLOCK_EVERY,
        "a burst reads the clock before its end"
    );
    assert!(
        STEP_FLOWS_MAX >= STEP_ROOTS_MAX && STEP_FRAMES_MAX > STEP_FLOWS_MAX,
        "every root has a flow, and every flow a frame"
    );
    assert!(
        STEP_TIMERS_MAX >= STEP_TASKS_MAX,
        "every callback can be deferred"
    );
};

/// Public keys that a key table holds: some for each authorizer and executor,
/// twice while they rotate (rule O2).
pub const SIGNING_KEYS_MAX: usize = 1_024;

/// Bytes of a signed decision's body: some 800 are needed (rule O1).
pub const DECISION_BYTES_MAX: usize = 8_192;

/// Units of 64 bytes that one journal record takes at most: its length is one
/// byte. It bounds an outbox message to 16 KB.
pub const JOURNAL_RECORD_UNITS_MAX: usize = 255;

/// Units that one record group of a shard's turn takes at most: 1 MiB, as many
/// records as a turn of the largest batch can make, 64 for each command.
pub const JOURNAL_GROUP_UNITS_MAX: usize = 16_384;

/// Units on their way from one shard to its journal's thread: one group that is
/// gathered while another is written.
pub const JOURNAL_RING_UNITS: usize = 4 * JOURNAL_GROUP_UNITS_MAX;

/// Record groups of one shard that are not durable yet, unless configured; then
/// the shard takes no more commands (rule J4). A disk that takes 60 µs for a
/// sync has some 100 of them under way.
pub const JOURNAL_GROUPS_DEFAULT: usize = 1_024;

/// The same, at most.
pub const JOURNAL_GROUPS_MAX: usize = 65_536;

/// Bytes of a segment, unless configured (rule J1).
pub const JOURNAL_SEGMENT_BYTES_DEFAULT: u64 = 64 << 20;

/// Bytes of a segment, at least: the longest group and the headers.
pub const JOURNAL_SEGMENT_BYTES_MIN: u64 = 8 << 20;

/// Bytes of a segment, at most: what a damaged one can cost to look through.
pub const JOURNAL_SEGMENT_BYTES_MAX: u64 = 1 << 30;

/// Units that a journal's reader holds at once, unless a group is longer: 256 KiB
/// stay in a processor's cache until they are shown.
pub const JOURNAL_WINDOW_UNITS: usize = 4_096;

/// Segments to be closed before the next snapshot, unless configured: a start reads
/// 320 MiB at most.
pub const JOURNAL_SNAPSHOT_SEGMENTS_DEFAULT: u64 = 4;

/// The same at most: beyond it no snapshot is meant.
pub const JOURNAL_SNAPSHOT_SEGMENTS_MAX: u64 = 1_000_000;

/// Windows that are read ahead of what is shown.
pub const JOURNAL_BATCHES: usize = 4;

/// Requests to a venue that wait for the journal, of one shard: two turns of the
/// largest batch; at half of it the shard takes no more commands.
pub const SHARD_VENUE_HELD_MAX: usize = 16_384;

/// Reports of one shard that wait for the journal without an allocation; what is
/// open there bounds them.
pub const SHARD_REPORTS_HELD: usize = 16_384;

/// Accounts that a shard's turn notes once each, when it changes them often.
pub const SHARD_TOUCHED_FILTER: usize = 1_024;

/// How long a shard that ends waits for its last group.
pub const SHARD_CLOSE_WAIT: core::time::Duration = core::time::Duration::from_secs(5);

/// Orders that a shard asks its venue for in one turn after a restart.
pub const RECONCILE_QUERIES_PER_TURN: usize = 16;

/// Nanoseconds until an order is asked for again, at first: 100 ms.
pub const RECONCILE_PAUSE_MIN: u64 = 100_000_000;

/// The same, at most: 60 s (rule O21).
pub const RECONCILE_PAUSE_MAX: u64 = 60_000_000_000;

const _: () = {
    assert!(SHARD_VENUE_HELD_MAX / 2 >= BATCH_MAX * 16);
    assert!(JOURNAL_RECORD_UNITS_MAX <= u8::MAX as usize);
    assert!(JOURNAL_RING_UNITS >= 2 * JOURNAL_GROUP_UNITS_MAX);
    assert!(
        JOURNAL_SEGMENT_BYTES_MIN >= (JOURNAL_RING_UNITS as u64 + 2) * 64,
        "whatever the ring holds can be one group of one segment"
    );
    assert!(JOURNAL_GROUP_UNITS_MAX >= BATCH_MAX * 64);
    assert!(JOURNAL_GROUPS_DEFAULT <= JOURNAL_GROUPS_MAX);
};

/// Orders and void decisions that an executor holds in memory, some 1 KiB each,
/// unless configured (rule O18).
pub const EXECUTOR_ORDERS_MAX: usize = 1 << 20;

/// Messages that wait for an authorizer that is away, unless configured; at the
/// bound new orders are refused (rule O30).
pub const OUTBOX_MAX: usize = 65_536;

/// Orders that wait for a venue's rate, unless configured (rule O37).
pub const VENUE_WAITING_MAX: u32 = 1_024;

/// Fills of orders that are not ours, kept for a person; more are counted
/// (rule O24).
pub const EXTERNAL_FILLS_MAX: usize = 4_096;

/// Requests that wait for an executor's thread; one more is refused, and the
/// caller told to come later.
pub const EXECUTOR_REQUESTS_MAX: usize = 1_024;

/// Requests that an executor's thread has taken and not answered: most wait for
/// the disk, cancels for their venue.
pub const EXECUTOR_IN_FLIGHT_MAX: usize = 4_096;

/// Messages of an executor in one request to an authorizer elsewhere.
pub const OUTBOX_POST_MESSAGES_MAX: usize = 64;

/// Bytes of such a request: a message has less than 1 KiB.
pub const OUTBOX_POST_BYTES_MAX: usize = 128 * 1_024;

/// Executors elsewhere that one authorizer serves, by their logs.
pub const OUTBOX_STREAMS_MAX: usize = 64;

/// HTTP connections at once, at most; each costs a descriptor and some 20 KiB.
pub const HTTP_CONNECTIONS_MAX: u32 = 65_536;

/// Bytes of a request's head, which the server buffers: some 300 are needed.
pub const HTTP_HEAD_BYTES_MAX: usize = 16_384;

/// Bytes of any request's body: the longest is a signed decision.
pub const HTTP_BODY_BYTES_MAX: usize = DECISION_BYTES_MAX;

/// Agents that a gateway knows: each request's token is compared with all.
pub const HTTP_AGENTS_MAX: usize = 1_024;

/// Orders in one answer to an operator's question.
pub const HTTP_ORDERS_LISTED_MAX: usize = 1_000;

/// Venue events that an executor takes in one turn.
pub const EXECUTOR_EVENTS_MAX: usize = 256;

/// Messages that an authorizer was offered and has not taken for good (rule O30).
pub const EXECUTOR_DELIVERIES_MAX: usize = 256;

/// How long an executor waits for what it has offered before it looks again by
/// itself; a receiver with a bell is quicker.
pub const EXECUTOR_DELIVERY_LOOK: core::time::Duration = core::time::Duration::from_millis(1);

/// Records after which an executor begins the next record group, so that a group
/// stays well below what a journal takes at once: a record is some hundred bytes.
pub const EXECUTOR_GROUP_RECORDS: usize = 256;

const _: () = assert!(EXECUTOR_GROUP_RECORDS * 32 <= JOURNAL_GROUP_UNITS_MAX);

/// The longest pause between two questions or deliveries, in seconds (rules
/// O21, O30).
pub const BACK_OFF_SECONDS_MAX: u64 = 60;

/// Questions to one venue in a second where it names no rate (rule O21).
pub const QUERIES_PER_SECOND: u32 = 100;

/// What an authorizer's shard is asked and has not looked at: decisions, messages
/// of the executor, lists. One more is refused, or offered again later.
pub const AUTHORITY_ASKS_MAX: usize = 1_024;

/// Decisions that were never brought, in one list of one shard.
pub const AUTHORITY_DUE_MAX: usize = 256;

/// What a shard does of that in one turn: its orders come first.
pub const AUTHORITY_ASKS_PER_TURN: usize = 64;

/// Decisions of one shard that hold something; one more is denied with
/// `CapacityExceeded`. At 1 KiB each it is 64 MiB.
pub const AUTHORITY_HOLDS_MAX: usize = 65_536;

/// Orders of one shard whose holds have ended, and of which it is known how much was
/// left: a later fill is judged by that. At 80 bytes each it is 5 MiB.
pub const AUTHORITY_ENDED_MAX: usize = 65_536;

/// How long until a decision that was listed as never brought, and is
/// still held, is listed again: it was brought, and nothing was heard of it.
pub const AUTHORITY_DUE_PAUSE: core::time::Duration = core::time::Duration::from_secs(60);

/// Executors' logs that one shard remembers; a message of one more is not taken,
/// as it could be booked twice.
pub const AUTHORITY_STREAMS_MAX: usize = 1_024;

/// Venues whose executions one shard tells apart; those of one more are known by
/// their messages alone.
pub const AUTHORITY_VENUES_MAX: usize = 1_024;

/// How long a decision may be brought, at least: less is over before it arrives.
pub const DECISION_TTL_MIN: core::time::Duration = core::time::Duration::from_millis(1);

/// The same, at most: it holds money all the while.
pub const DECISION_TTL_MAX: core::time::Duration = core::time::Duration::from_secs(86_400);

const _: () = {
    assert!(
        AUTHORITY_ASKS_MAX >= 2 * EXECUTOR_DELIVERIES_MAX,
        "an executor's messages leave room for decisions"
    );
    assert!(
        AUTHORITY_ASKS_PER_TURN * 32 <= JOURNAL_GROUP_UNITS_MAX,
        "what a turn answers is one group, and a decision some 20 units"
    );
    assert!(AUTHORITY_VENUES_MAX <= u16::MAX as usize);
};
