//! Which threads there are, and on which CPUs: decided before any starts.

use pitlane::host::Cpu;
use pitlane::time::IdleStrategy;

use super::StartError;
use crate::config::{Config, Idle, Mode, Shards};

/// How a gateway's work is laid out over threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Shards, from 1.
    pub shards: u16,
    /// I/O threads, from 1.
    pub io_threads: u16,
    /// Whether the I/O thread runs the shard itself.
    pub inline: bool,
    /// How threads wait.
    pub idle: IdleStrategy,
    /// How the journals' threads wait.
    pub journal_idle: IdleStrategy,
}

impl Layout {
    /// Decides from the configuration and the CPUs that this process may use;
    /// `others` are threads of this process that work beside the gateway.
    ///
    /// # Errors
    /// Inline mode with more than one shard or I/O thread.
    pub fn decide(config: &Config, cpus: &[Cpu], others: usize) -> Result<Self, StartError> {
        let io_threads = config.gateway.io_threads.get();
        let free = cpus
            .len()
            .saturating_sub(usize::from(io_threads) + others)
            .max(1);
        let named = config.engine.cpus.len();
        let shards = match config.engine.shards {
            Shards::Count(count) => count.get(),
            Shards::Auto if config.gateway.mode == Mode::Inline => 1,
            Shards::Auto if named > 0 => u16::try_from(named).unwrap_or(u16::MAX),
            Shards::Auto => u16::try_from(free).unwrap_or(u16::MAX),
        };
        // Several shards share a venue, or one with an executor, which has a thread of its own.
        let shared = shards > 1 || config.http.enabled;
        let venue_threads = usize::from(shared);
        let hot = usize::from(io_threads) + usize::from(shards) + venue_threads + others;
        let one_of_each = shards == 1 && io_threads == 1;
        let inline = match config.gateway.mode {
            Mode::Inline if config.http.enabled => return Err(StartError::InlineHttp),
            Mode::Inline if one_of_each => true,
            Mode::Inline => return Err(StartError::Inline { shards, io_threads }),
            Mode::Ring => false,
            Mode::Auto => one_of_each && hot > cpus.len() && !config.http.enabled,
        };
        let idle = match config.gateway.idle {
            Idle::Spin => IdleStrategy::busy(),
            Idle::Yield => IdleStrategy::new(0, u32::MAX),
            Idle::Park => IdleStrategy::for_threads(hot, cpus.len()),
        };
        Ok(Self {
            shards,
            io_threads,
            inline,
            idle,
            // A disk is slower than a wake, and a journal's thread that spins
            // would keep a core from who has work.
            journal_idle: IdleStrategy::shared(),
        })
    }
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU16;

    use super::*;

    fn cpus(count: usize) -> Vec<Cpu> {
        (0..count).map(Cpu).collect()
    }

    fn config(mode: Mode, shards: Option<u16>) -> Config {
        let mut config = Config::default();
        config.gateway.mode = mode;
        config.engine.shards =
            shards.map_or(Shards::Auto, |n| Shards::Count(NonZeroU16::new(n).unwrap()));
        config
    }

    #[test]
    fn f42_fewer_cores_than_threads_means_inline() {
        let decide = |cores, others| {
            let layout = Layout::decide(&config(Mode::Auto, None), &cpus(cores), others).unwrap();
            (layout.shards, layout.inline)
        };
        assert_eq!(
            decide(1, 0),
            (1, true),
            "one core has no room for a second thread"
        );
        assert_eq!(decide(2, 0), (1, false));
        assert_eq!(decide(2, 1), (1, true), "a load generator takes a core");
        assert_eq!(decide(8, 0), (7, false));
        assert_eq!(decide(0, 0), (1, true), "CPUs that cannot be read");
    }

    #[test]
    fn inline_with_several_shards_is_refused_with_the_mend() {
        let refused = Layout::decide(&config(Mode::Inline, Some(2)), &cpus(8), 0).unwrap_err();
        let text = refused.to_string();
        assert!(
            text.contains("2 shards") && text.contains("mode = \"ring\""),
            "{text}"
        );
        let ring = Layout::decide(&config(Mode::Ring, Some(2)), &cpus(1), 0).unwrap();
        assert!(!ring.inline);
        assert_eq!(ring.idle, IdleStrategy::shared());
    }
}
