//! `pitlane serve`: a gateway until it is told to stop.

use std::time::Duration;

use pitlane::host::PinOutcome;
use pitlane::types::ReportKind;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::args::ServeArgs;
use super::dev::DevFolder;
use super::run::{Failure, print};
use super::watch::Watch;
use crate::assembly::{Gateway, Stopped};
use crate::config::{Config, JournalMode};
use crate::server::IoUsed;

/// How long what is in flight may take after the first signal.
const DRAIN: Duration = Duration::from_secs(10);

pub(super) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let dev = args.dev.as_deref().map(DevFolder::prepare).transpose()?;
    let mut config = match (&dev, &args.config) {
        (Some(dev), _) => dev.config.clone(),
        (None, Some(file)) => Config::load(file).map_err(Failure::input)?,
        (None, None) => return Err(Failure::input("name --config FILE or --dev DIR")),
    };
    if let Some(io) = args.io {
        config.gateway.io = io.into();
    }
    refuse_example_keys(&config)?;
    // Before anything listens: a signal that comes now stops it as it should.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| Failure::run(format!("signals cannot be taken: {error}")))?;
    let gateway = Gateway::start(&config, 0).map_err(Failure::input)?;
    describe(&gateway, &config);
    let watch = Watch::start(gateway.monitors())
        .map_err(|error| Failure::run(format!("the system refuses a thread: {error}")))?;
    match (&dev, gateway.http()) {
        (Some(dev), Some(http)) => print(&dev.ready(gateway.address(), http)),
        (_, http) => {
            print(&format!("listening on {}\n", gateway.address()));
            if let Some(http) = http {
                print(&format!("http on {http}\n"));
            }
        }
    }

    let stopper = gateway.stopper();
    for signal in signals.forever() {
        if signal == SIGHUP {
            eprintln!("SIGHUP: nothing of the configuration can change while it runs; restart it");
            continue;
        }
        break;
    }
    eprintln!(
        "stopping: {} s for what is in flight; a second signal stops at once",
        DRAIN.as_secs()
    );
    let handle = signals.handle();
    let again = std::thread::spawn(move || {
        // Closed below, which ends this, too.
        if signals.forever().any(|signal| signal != SIGHUP) {
            stopper.kill();
        }
    });
    // What a journal that failed has not acknowledged is never answered.
    let drain = if gateway.journal_faults().is_empty() {
        DRAIN
    } else {
        Duration::ZERO
    };
    for trouble in gateway.troubles() {
        eprintln!("{trouble}");
    }
    let stopped = gateway.stop(drain);
    handle.close();
    let _ = again.join();
    watch.end();
    report(&stopped)
}

/// Whoever read the example could log on.
fn refuse_example_keys(config: &Config) -> Result<(), Failure> {
    let example = Config::parse("the example", Config::example()).map_err(Failure::run)?;
    let refuse = |who: String, what: &str, mend: &str| {
        Err(Failure::input(format!(
            "{who} has the example's {what}, which everyone knows; make your own: {mend}"
        )))
    };
    let known = |key| example.credentials.iter().any(|one| one.public_key == key);
    if let Some(entry) = config.credentials.iter().find(|one| known(one.public_key)) {
        let who = format!("credential {}", entry.id);
        let what = "public key, and with it the private key";
        return refuse(who, what, "pitlane keygen --out FILE");
    }
    if !config.http.enabled {
        return Ok(());
    }
    let known = |key| example.keys.iter().any(|one| one.public_key == key);
    if let Some(entry) = config.keys.iter().find(|one| known(one.public_key)) {
        let what = "public key, and with it the private key";
        return refuse(
            format!("key {:?}", entry.key_id),
            what,
            "pitlane keygen --out FILE",
        );
    }
    let agents = config.agents.iter().map(|one| (&one.id, one.token_sha256));
    let admins = config.admins.iter().map(|one| (&one.id, one.token_sha256));
    let peers = config.peers.iter().map(|one| (&one.id, one.token_sha256));
    let known = |hash| {
        let mut peers = example.peers.iter().map(|one| one.token_sha256);
        let mut agents = example.agents.iter().map(|one| one.token_sha256);
        let mut admins = example.admins.iter().map(|one| one.token_sha256);
        agents.any(|own| own == hash)
            || admins.any(|own| own == hash)
            || peers.any(|own| own == hash)
    };
    if let Some((id, _)) = agents
        .chain(admins)
        .chain(peers)
        .find(|(_, hash)| known(*hash))
    {
        return refuse(format!("{id:?}"), "token", "pitlane token --out FILE");
    }
    Ok(())
}

fn describe(gateway: &Gateway, config: &Config) {
    let layout = gateway.layout();
    for io in gateway.io() {
        match io {
            IoUsed::Uring => eprintln!("I/O: io_uring"),
            IoUsed::Epoll { refused: None } => eprintln!("I/O: epoll"),
            IoUsed::Epoll { refused: Some(why) } => eprintln!("I/O: epoll, because {why}"),
        }
    }
    let way = if layout.inline {
        "on the I/O thread"
    } else {
        "behind rings"
    };
    eprintln!("shards: {} {way}", layout.shards);
    for (shard, pin) in gateway.pins().iter().enumerate() {
        match pin {
            PinOutcome::NotAsked => {}
            PinOutcome::Pinned(cpu) => eprintln!("shard {shard}: on CPU {}", cpu.0),
            PinOutcome::Refused(cpu) => {
                eprintln!(
                    "shard {shard}: the system refuses CPU {}; it runs anywhere",
                    cpu.0
                );
            }
            PinOutcome::NotAllowed(cpu) => {
                eprintln!(
                    "shard {shard}: CPU {} is outside of this process's mask",
                    cpu.0
                );
            }
        }
    }
    describe_journal(gateway, config);
}

fn describe_journal(gateway: &Gateway, config: &Config) {
    let journal = &config.journal;
    let dir = journal.dir.display();
    match journal.mode {
        JournalMode::Sync => eprintln!("journal: sync, in {dir}"),
        JournalMode::Async => eprintln!(
            "journal: async, in {dir}; a machine that stops can lose the last {} ms",
            journal.sync_every.as_millis()
        ),
        JournalMode::Off => eprintln!("journal: off; nothing survives a restart"),
    }
    for (shard, found) in gateway.found().iter().enumerate() {
        if let Some(place) = found.snapshot {
            eprintln!(
                "shard {shard}: begun with the snapshot of segment {}",
                place.segment - 1
            );
        }
        if found.records > 0 {
            eprintln!(
                "shard {shard}: {} records taken over; {} orders were open, and have ended with the \
                 simulated venue",
                found.records, found.open_orders
            );
        }
        if let Some(place) = found.cut {
            eprintln!(
                "shard {shard}: a torn tail was cut, in segment {} at byte {}: what it held was \
                 never told to anybody",
                place.segment, place.offset
            );
        }
    }
}

fn report(stopped: &Stopped) -> Result<(), Failure> {
    let (stats, summary) = (&stopped.stats, &stopped.summary);
    eprintln!(
        "stopped: {} commands, {} reports; {} in flight, {} sessions told, {} unread",
        stats.commands, stats.reports, summary.in_flight, summary.sessions_told, summary.unread
    );
    let told = |kind| stopped.told.count(kind);
    eprintln!(
        "told: {} accepted, {} rejected, {} executed, {} canceled, {} replaced, {} changes refused",
        told(ReportKind::Accepted),
        told(ReportKind::Rejected),
        told(ReportKind::Executed),
        told(ReportKind::Canceled),
        told(ReportKind::Replaced),
        told(ReportKind::CancelRejected)
    );
    if let Some((shard, fault)) = stopped.journals.first() {
        return Err(Failure::run(format!(
            "shard {}: its journal has failed: {fault}; what was not acknowledged may be lost. \
             Restart on a disk that works",
            shard.0
        )));
    }
    match &stopped.lanes {
        Ok(lanes) if lanes.is_balanced() => Ok(()),
        Ok(lanes) => Err(Failure::run(format!(
            "the shards' counts do not balance: {lanes:?}"
        ))),
        Err(error) => Err(Failure::run(format!("the shards did not stop: {error}"))),
    }
}
