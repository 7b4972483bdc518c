//! The configuration: what is taken, and that every problem is told at once,
//! with its line, what was found, what is wanted, and the mend.

#[path = "support/config_text.rs"]
mod config_text;

use std::time::Duration;

use config_text::{ASSETS, in_its_part, problem, problems};

use std::path::Path;

use pitlane::orders::venue::sim::Phase;
use pitlane::types::{AccountId, Amount, AssetId, GroupId, Price};
use pitlane_gateway::config::{
    AccountAccess, Config, ConfigError, Idle, Io, JournalMode, Mode, PermissionSet, Shards,
};
use proptest::prelude::*;

const KEY: &str = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29";

#[test]
fn nothing_is_a_configuration_of_defaults() {
    assert_eq!(
        Config::parse("test.toml", "").expect("defaults"),
        Config::default()
    );
    let config = Config::default();
    assert!(config.gateway.listen.ip().is_loopback());
    assert_eq!(config.engine.shards, Shards::Auto);
}

#[test]
fn the_example_is_read_and_shows_the_defaults() {
    let config = Config::parse("example.toml", Config::example()).expect("the example");
    let default = Config::default();
    assert_eq!(config.gateway, default.gateway);
    assert_eq!(config.session, default.session);
    assert_eq!(config.engine, default.engine);
    let mut journal = config.journal.clone();
    assert!(journal.history.take().is_some(), "it shows how");
    assert_eq!(journal, default.journal);
    assert_eq!(config.venue, default.venue);

    assert_eq!(config.assets.len(), 2);
    let instrument = &config.instruments[0];
    assert_eq!(
        (instrument.symbol.as_str(), instrument.phase),
        ("AAPL/USD", Phase::Continuous)
    );
    assert_eq!(
        (instrument.base, instrument.settlement),
        (AssetId(2), AssetId(1))
    );
    assert_eq!(
        instrument.reference,
        Some(Price::parse("187.5").expect("a price"))
    );
    let range = &config.accounts[0];
    assert_eq!(
        (range.first, range.count, range.last()),
        (AccountId(1_001), 100, 1_100)
    );
    assert_eq!(range.group, GroupId::new(7));
    assert_eq!(
        range.balances[0],
        (AssetId(1), Amount::parse("1000000").expect("an amount"))
    );
    let credential = &config.credentials[0];
    assert_eq!(
        credential.permissions,
        PermissionSet {
            enter: true,
            cancel: true,
            drop_copy: false,
        }
    );
    assert_eq!(credential.accounts, AccountAccess::All);
    assert_eq!(config.accounts_of(credential).len(), 100);
}

/// Keys stand where they belong, so that neither page nor example can lack one.
#[test]
fn the_page_and_the_example_have_every_key() {
    let (page, example) = (include_str!("../../docs/config.md"), Config::example());
    for path in Config::known_keys() {
        if let Some((section, key)) = path.rsplit_once('.') {
            let headings = [format!("{section}]"), format!("[{section}]]")];
            assert!(
                in_its_part(page, "\n## `[", &headings, &format!("\n| `{key}` |")),
                "docs/config.md lacks {path}"
            );
            assert!(
                in_its_part(example, "\n[", &headings, &format!("\n{key} =")),
                "the example lacks {path}"
            );
        }
    }
    assert!(
        page.contains(Config::example()),
        "docs/config.md shows another example"
    );
}

#[test]
fn the_keys_of_each_section_are_known() {
    let keys = Config::known_keys();
    for key in [
        "gateway.listen",
        "engine.shards",
        "journal.mode",
        "account.balances",
        "credential.public_key",
    ] {
        assert!(keys.contains(key), "{key}");
    }
    assert!(keys.len() > 40);
}

#[test]
fn settings_are_taken() {
    let config = Config::parse(
        "test.toml",
        "[gateway]\nlisten = \"[::1]:9\"\nio = \"epoll\"\nio_threads = 2\ncpus = [2, 3]\nmode = \"ring\"\n\
         idle = \"spin\"\nmax_connections = 0x10\n[session]\nnegotiation = \"250ms\"\n\
         [engine]\nshards = 3\ncpus = [4, 5, 6]\n[journal]\nmode = \"off\"\n",
    )
    .expect("good");
    assert_eq!(config.gateway.listen.to_string(), "[::1]:9");
    assert_eq!(
        (config.gateway.io, config.gateway.mode, config.gateway.idle),
        (Io::Epoll, Mode::Ring, Idle::Spin)
    );
    assert_eq!(
        (config.gateway.cpus, config.gateway.max_connections),
        (vec![2, 3], 16)
    );
    assert_eq!(config.session.negotiation, Duration::from_millis(250));
    assert_eq!(config.engine.cpus, [4, 5, 6]);
}

#[test]
fn every_problem_is_told_at_once_in_the_order_of_lines() {
    let text = "[gateway]\nlisen = \"127.0.0.1:1\"\nio = \"iouring\"\nio_threads = 0\n\n\
                [engine]\nshards = 0\n[jurnal]\nmode = \"off\"\n";
    let shown: Vec<String> = problems(text).iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "test.toml:2: gateway.lisen: found the unknown key \"lisen\"; wanted one of allow_public, \
             listen, io_threads, id, io, cpus, mode, idle, max_connections; did you mean listen?",
            "test.toml:3: gateway.io: found \"iouring\"; wanted \"auto\", \"uring\" or \"epoll\"; \
             did you mean \"uring\"?",
            "test.toml:4: gateway.io_threads: found the number 0; wanted a whole number from 1 to 64; \
             write io_threads = 1 or more",
            "test.toml:7: engine.shards: found the number 0; wanted \"auto\", or a whole number \
             from 1 to 256; without a shard nothing judges an order: write shards = \"auto\", or 1 or more",
            "test.toml:8: jurnal: found the unknown key \"jurnal\"; wanted one of gateway, session, engine, \
             journal, venue, asset, instrument, account, credential, http, authorizer, \
             executor, agent, admin, peer, key, \
             risk; did you mean journal?",
        ]
    );
}

#[test]
fn a_public_address_must_be_meant() {
    for address in ["0.0.0.0:7400", "192.0.2.1:7400", "[::]:7400"] {
        let text = format!("[gateway]\nlisten = \"{address}\"\n");
        assert_eq!(
            problem(&text),
            format!(
                "test.toml:2: gateway.listen: found \"{address}\", which other hosts can reach; \
                 wanted a loopback address, or leave to listen on another; \
                 write allow_public = true if that is meant"
            )
        );
        assert_eq!(problems(&format!("{text}allow_public = true\n")), []);
    }
    assert!(problem("[gateway]\nlisten = \"localhost:1\"\n").contains("names are not resolved"));
}

#[test]
fn money_is_text_and_never_a_float() {
    let text =
        |balance: &str| format!("{ASSETS}[[account]]\nid = 1\nbalances = {{ USD = {balance} }}\n");
    assert_eq!(problems(&text("\"0.1\"")), []);
    assert_eq!(
        problem(&text("0.1")),
        "test.toml:9: account[1].balances.USD: found the float 0.1; \
         wanted an exact decimal in quotes: a float would round it; quote it: USD = \"0.1\""
    );
    assert_eq!(problems(&text("5")), [], "a whole number is exact");
    assert!(problem(&text("0x10")).contains("write USD = \"12.5\""));
    assert!(problem(&text("\"1e5\"")).contains("byte 1: an exponent"));
    assert!(problem(&text("true")).contains("write USD = \"12.5\""));
    assert!(
        problem(&text("\"1\", USDT = \"1\"")).contains("account[1].balances.USDT: found \"USDT\"")
    );
}

#[test]
fn j03_a_journal_is_sync_unless_it_is_said_otherwise() {
    assert_eq!(Config::default().journal.mode, JournalMode::Sync);
    let text = "[journal]\nmode = \"async\"\ndir = \"/x\"\nsync_every = \"2s\"\n\
                segment_mib = 8\ngroups_max = 3\n";
    let journal = Config::parse("test.toml", text).unwrap().journal;
    assert_eq!(journal.mode, JournalMode::Async);
    assert_eq!(journal.dir, Path::new("/x"));
    assert_eq!(journal.sync_every.as_millis(), 2_000);
    assert_eq!((journal.segment_mib, journal.groups_max), (8, 3));
    for wrong in ["sync_every = \"61s\"", "segment_mib = 7", "groups_max = 0"] {
        let key = wrong.split(' ').next().unwrap();
        let shown = problem(&format!("[journal]\n{wrong}\n"));
        assert!(shown.contains(&format!("journal.{key}")), "{shown}");
    }
    assert!(problem("[journal]\nmode = \"of\"\n").contains("did you mean \"off\"?"));
}

#[test]
fn what_is_named_must_be_there_and_once() {
    let text = format!(
        "{ASSETS}[[asset]]\nid = 1\nname = \"AAPL\"\n\
         [[instrument]]\nid = 1\nbase = \"APL\"\nsettlement = \"USD\"\n\
         [[account]]\nid = 10\ncount = 5\n[[account]]\nid = 14\n\
         [[credential]]\nid = 1\npublic_key = \"{KEY}\"\naccounts = [10, 14, 15]\n\
         [[credential]]\nid = 1\npublic_key = \"{KEY}\"\naccounts = \"all\"\n"
    );
    let shown: Vec<String> = problems(&text)
        .iter()
        .map(|p| format!("{}: {}: {}", p.line, p.key, p.mend))
        .collect();
    assert_eq!(
        shown,
        [
            "8: asset[3].id: asset[1] has it already: change one, or remove one",
            "9: asset[3].name: asset[2] has it already: change one, or remove one",
            "12: instrument[1].base: did you mean \"AAPL\"?",
            "18: account[2].id: the entry from 10 has it already: change one, or remove one",
            "22: credential[1].accounts: add [[account]] with id = 15, or remove it from the list",
            "24: credential[2].id: credential[1] has it already: change one, or remove one",
            "25: credential[2].public_key: credential[1] has it already: change one, or remove one",
        ]
    );
}

#[test]
fn what_must_be_there_is_missed_by_name() {
    let shown: Vec<String> = problems("[[asset]]\n[[instrument]]\n[[account]]\n[[credential]]\n")
        .iter()
        .map(|p| format!("{}: {}: {}", p.line, p.key, p.found))
        .collect();
    assert_eq!(
        shown,
        [
            "1: asset[1].id: nothing",
            "1: asset[1].name: nothing",
            "2: instrument[1].id: nothing",
            "2: instrument[1].base: nothing",
            "2: instrument[1].settlement: nothing",
            "3: account[1].id: nothing",
            "4: credential[1].id: nothing",
            "4: credential[1].public_key: nothing",
            "4: credential[1].accounts: nothing",
        ]
    );
}

#[test]
fn each_value_is_held_to_its_range() {
    for (text, key, mend) in [
        (
            "[gateway]\ncpus = [1, 1]\nio_threads = 2",
            "gateway.cpus",
            "name another",
        ),
        (
            "[gateway]\ncpus = [1, 2]",
            "gateway.cpus",
            "name 1, change io_threads",
        ),
        (
            "[gateway]\ncpus = [-1]",
            "gateway.cpus",
            "mend or remove it",
        ),
        ("[gateway]\ncpus = 3", "gateway.cpus", "write cpus = [...]"),
        (
            "[gateway]\ncpus = [3]\n[engine]\nshards = 1\ncpus = [3]",
            "engine.cpus",
            "name another in one",
        ),
        (
            "[gateway]\nmax_connections = -1",
            "gateway.max_connections",
            "write max_connections = 1",
        ),
        (
            "[gateway]\nmax_connections = 1.5",
            "gateway.max_connections",
            "write max_connections = 1",
        ),
        (
            "[gateway]\nallow_public = \"yes\"",
            "gateway.allow_public",
            "write allow_public = false",
        ),
        (
            "[gateway]\nlisten = 7400",
            "gateway.listen",
            "write listen = \"127.0.0.1:7400\"",
        ),
        ("gateway = 5", "gateway", "write [gateway]"),
        ("asset = 5", "asset", "write [[asset]]"),
        ("[asset]\nid = 1", "asset", "write [[asset]]"),
        (
            "[session]\nnegotiation = 5",
            "session.negotiation",
            "write negotiation = \"5s\"",
        ),
        (
            "[session]\nnegotiation = \"0s\"",
            "session.negotiation",
            "write negotiation = \"5s\"",
        ),
        (
            "[session]\nkeep_alive_min = \"61s\"",
            "session.keep_alive_min",
            "lower this one",
        ),
        (
            "[session]\nkeep_alive_max = \"2000h\"",
            "session.keep_alive_max",
            "write keep_alive_max",
        ),
        (
            "[engine]\nshards = 257",
            "engine.shards",
            "write shards = \"auto\"",
        ),
        (
            "[engine]\nshards = \"two\"",
            "engine.shards",
            "write shards = \"auto\"",
        ),
        (
            "[venue]\nevents_max = 1",
            "venue.events_max",
            "write events_max =",
        ),
        (
            "[[asset]]\nid = 1\nname = \"U S\"",
            "asset[1].name",
            "write name = \"USD\"",
        ),
        (
            "[[account]]\nid = 1\ncount = 0",
            "account[1].count",
            "write count = 1",
        ),
        (
            "[[account]]\nid = 1\ngroup = 0",
            "account[1].group",
            "write group = 1",
        ),
        (
            "[[account]]\nid = 18446744073709551615\ncount = 2",
            "account[1].count",
            "use a smaller id",
        ),
        (
            "[[credential]]\nid = 1\npublic_key = \"00\"\naccounts = \"all\"",
            "credential[1].public_key",
            "paste",
        ),
        (
            "[[credential]]\nid = 1\npublic_key = \"K\"\naccounts = \"some\"",
            "credential[1].accounts",
            "write accounts",
        ),
        (
            "[[credential]]\nid = 1\npublic_key = \"K\"\naccounts = \"all\"\npermissions = []",
            "credential[1].permissions",
            "write permissions",
        ),
        (
            "[[credential]]\nid = 1\npublic_key = \"K\"\naccounts = \"all\"\npermissions = [\"admin\"]",
            "credential[1].permissions",
            "mend or remove it",
        ),
        (
            "[[credential]]\nid = 1\npublic_key = \
             \"0100000000000000000000000000000000000000000000000000000000000000\"\naccounts = \"all\"",
            "credential[1].public_key",
            "make a new key pair",
        ),
    ] {
        let mut text = text.replace("\"K\"", &format!("{KEY:?}"));
        if text.contains("credential") {
            text += "\n[[account]]\nid = 1\n";
        }
        let found = problems(&text);
        let [only] = found.as_slice() else {
            panic!("{text}: {found:#?}")
        };
        assert_eq!(only.key, key, "{text}");
        assert!(only.mend.starts_with(mend), "{text}: {only}");
    }
}

#[test]
fn an_instrument_of_the_venue_has_sound_steps() {
    let text = |line: &str| {
        format!("{ASSETS}[[instrument]]\nid = 1\nbase = \"AAPL\"\nsettlement = \"USD\"\n{line}\n")
    };
    assert!(problem(&text("tick = \"0\"")).contains("a step above zero"));
    assert!(problem(&text("lot = \"-1\"")).contains("a step above zero"));
    assert!(
        problem(&text("tick = \"0.5\"\nreference = \"0.7\"")).contains("multiple of the tick, 0.5")
    );
    assert!(problem(&text("phase = \"contiuous\"")).contains("did you mean \"continuous\"?"));
    assert!(
        problem(&text("").replace("\"AAPL\"\ns", "\"USD\"\ns")).contains("name what a buyer pays")
    );
    let config = Config::parse("test.toml", &text("")).expect("good");
    assert_eq!(config.instruments[0].symbol, "AAPL/USD");
    assert_eq!(config.instruments[0].tick, Price::from_raw(1));
}

#[test]
fn text_that_is_no_toml_is_told_by_line() {
    let found = problems("[gateway]\nio = \"auto\"\nlisten 127.0.0.1\n[engine\n");
    let lines: Vec<usize> = found.iter().map(|problem| problem.line).collect();
    assert!(lines.contains(&3) && lines.contains(&4), "{found:#?}");
    let twice = problem("[gateway]\nio = \"auto\"\nio = \"epoll\"\n");
    assert!(twice.starts_with("test.toml:3: "), "{twice}");
}

#[test]
fn a_file_is_loaded_and_checked() {
    let folder = std::env::temp_dir().join(format!("pitlane-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let good = folder.join("good.toml");
    std::fs::write(&good, Config::example()).expect("written");
    assert!(Config::load(&good).is_ok());
    assert_eq!(Config::check(&good).expect("readable"), []);

    let bad = folder.join("bad.toml");
    std::fs::write(&bad, "[gateway]\nio = 1\n[engine]\nshards = 0\n").expect("written");
    let found = Config::check(&bad).expect("readable");
    assert_eq!(found.len(), 2);
    assert!(
        found[0]
            .to_string()
            .starts_with(&format!("{}:2: gateway.io: ", bad.display()))
    );
    let shown = Config::load(&bad).expect_err("bad").to_string();
    assert_eq!(shown.lines().count(), 2);

    let binary = folder.join("binary.toml");
    std::fs::write(&binary, [0xFF, 0xFE]).expect("written");
    assert!(matches!(
        Config::load(&binary),
        Err(ConfigError::Unreadable { .. })
    ));
    let gone = Config::load(folder.join("gone.toml")).expect_err("not there");
    assert!(
        gone.to_string().contains("gone.toml: cannot be read"),
        "{gone}"
    );

    let large = folder.join("large.toml");
    std::fs::write(&large, vec![b'#'; (16 << 20) + 1]).expect("written");
    assert!(matches!(
        Config::check(&large),
        Err(ConfigError::TooLarge { .. })
    ));
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn a_credential_has_an_account() {
    let text = |accounts: &str| {
        format!("[[credential]]\nid = 1\npublic_key = \"{KEY}\"\naccounts = {accounts}\n")
    };
    assert!(problem(&text("\"all\"")).contains("found \"all\" of no account"));
    assert!(problem(&text("[]")).contains("found an empty list"));
    assert!(problem(&text("[1]")).contains("add [[account]] with id = 1"));
    assert_eq!(
        problems(&format!("[[account]]\nid = 1\n{}", text("\"all\""))),
        []
    );
}

/// Entries that name entries: no look-up may go through a whole list.
#[test]
fn a_large_file_is_read_in_a_moment() {
    let mut text = String::new();
    for n in 0..20_000 {
        text += &format!("[[asset]]\nid = {n}\nname = \"A{n}\"\n");
        text += &format!("[[account]]\nid = {n}\nbalances = {{ A{n} = 1 }}\n");
    }
    for n in 0..20_000 {
        text += &format!("[[instrument]]\nid = {n}\nbase = \"A{n}\"\nsettlement = \"A0\"\n");
    }
    let mut found = problems(&text);
    let only = found.pop().expect("A0/A0");
    assert_eq!(
        (found.len(), only.key.as_str()),
        (0, "instrument[1].settlement")
    );
}

#[test]
fn a_list_of_problems_ends() {
    let text: String = (0..1_000).map(|n| format!("key{n} = 1\n")).collect();
    assert_eq!(problems(&text).len(), 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// One damaged place in a good file never panics, and is told with its line.
    #[test]
    fn a_damaged_file_is_told_not_lost(at in 0usize..2_000, junk in "[ -~\\n\u{e9}]{0,4}") {
        let example = Config::example();
        let mut cut = at.min(example.len());
        while !example.is_char_boundary(cut) {
            cut -= 1;
        }
        let text = format!("{}{junk}{}", &example[..cut], &example[cut..]);
        for problem in problems(&text) {
            prop_assert!(problem.line >= 1 && problem.line <= text.lines().count().max(1), "{problem}");
            prop_assert!(!problem.found.is_empty() && !problem.mend.is_empty());
        }
    }
}
