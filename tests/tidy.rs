//! The project's style, held by a test of its own.
//!
//! Each check has a canary beside it: a bad text that it must flag, so that a
//! check that sees nothing does not pass for a clean tree. The files are those
//! on the disk, but for what is built and what version control keeps.

#[path = "tidy/checks.rs"]
mod checks;
#[path = "tidy/code.rs"]
mod code;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use checks::Finding;

/// The files that may say `unsafe`, each with why. Add a line only with a
/// reason that safe code cannot meet.
const UNSAFE_ALLOWED: &[(&str, &str)] = &[
    (
        "tests/support/counting_allocator.rs",
        "GlobalAlloc is an unsafe trait",
    ),
    (
        "tests/loom_lanes/completing.rs",
        "loom's cells hand out pointers",
    ),
    (
        "tests/loom_lanes/nodes.rs",
        "posts and runs completion slots as wrappers and workers do",
    ),
    (
        "src/lanes/barrier.rs",
        "membarrier is a system call without a wrapper",
    ),
    (
        "src/lanes/desk.rs",
        "takes a wrapper's call out of the slot that brought it",
    ),
    (
        "src/lanes/dynamic/submitter.rs",
        "loads the completion slot that it has claimed",
    ),
    (
        "src/lanes/dynamic/worker.rs",
        "runs the operation that a slot was loaded with",
    ),
    (
        "src/lanes/node.rs",
        "an intrusive list, so that a finalization needs no room",
    ),
    (
        "src/lanes/wrapper.rs",
        "sends the slot that the wrapper owns",
    ),
    (
        "src/lanes/future.rs",
        "takes a result out of the slot that it owns",
    ),
    (
        "src/lanes/lane.rs",
        "enters a task whose type only its function pointer knows",
    ),
    (
        "src/lanes/lane_waits.rs",
        "enters a task that stood in line, as lane.rs does",
    ),
    (
        "src/lanes/chain/waiting.rs",
        "publishes the outcome of a chain that waited in its slot",
    ),
    (
        "src/lanes/looks.rs",
        "drops a result whose type only a function pointer knows",
    ),
    (
        "src/lanes/prefetch.rs",
        "one instruction that is only a hint, for which there is no safe function",
    ),
    (
        "src/lanes/message.rs",
        "a ring slot is a union, so that it stays one or two cache lines",
    ),
    (
        "src/lanes/openpit/driver.rs",
        "a promise about users' policies that the crate's types do not make",
    ),
    (
        "src/lanes/openpit/place.rs",
        "handles that move between workers, by that promise",
    ),
    (
        "tests/lanes_openpit.rs",
        "makes that promise for its own policy",
    ),
    (
        "src/lanes/operation.rs",
        "moves operations and results through untyped slots",
    ),
    (
        "src/lanes/reentry.rs",
        "a linked list of frames on the thread's own stack",
    ),
    (
        "src/lanes/shared_risk.rs",
        "an engine without what minds its thread goes from one to another",
    ),
    (
        "src/lanes/slab.rs",
        "cells whose owner an atomic word tells, freed by the last owner",
    ),
    (
        "src/lanes/submitter.rs",
        "puts an operation into the slot that it just claimed",
    ),
    (
        "src/lanes/sync.rs",
        "the model's load that checks that nobody else writes",
    ),
    (
        "src/steps/erased.rs",
        "closures, values and pinned futures of any type in pooled places",
    ),
];

/// Folders that hold nothing of the project's own.
const SKIPPED_FOLDERS: &[&str] = &["target", "node_modules", "__pycache__", "mutants.out"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every text file of the project, by its path from the root.
fn project() -> BTreeMap<String, String> {
    fn walk(folder: &Path, base: &Path, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).expect("the project's folder is readable") {
            let entry = entry.expect("the project's folder is readable");
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let kind = entry.file_type().expect("a file has a type");
            if kind.is_dir() {
                let hidden = name.starts_with('.') && name != ".ci" && name != ".cargo";
                if !hidden && !name.starts_with("target") && !SKIPPED_FOLDERS.contains(&&*name) {
                    walk(&path, base, files);
                }
            } else if name != ".git" // A file in a linked work tree.
                && kind.is_file()
                && let Ok(text) = fs::read_to_string(&path)
            {
                let relative = path.strip_prefix(base).expect("below the root");
                files.insert(relative.to_string_lossy().replace('\\', "/"), text);
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&root(), &root(), &mut files);
    files
}

/// Runs a check over the whole project.
fn clean(check: impl Fn(&str, &str) -> Vec<Finding>) {
    let mut all = String::new();
    for (path, text) in &project() {
        for Finding { line, what } in check(path, text) {
            all += &format!("{path}:{line}: {what}\n");
        }
    }
    assert!(all.is_empty(), "\n{all}");
}

/// The lines that a check flags.
fn flagged(findings: &[Finding]) -> Vec<usize> {
    findings.iter().map(|finding| finding.line).collect()
}

#[test]
fn the_walk_sees_the_project() {
    let files = project();
    for path in [
        "src/lib.rs",
        "gateway/src/lib.rs",
        "tests/tidy.rs",
        "README.md",
        "Cargo.toml",
    ] {
        assert!(files.contains_key(path), "{path} was not seen");
    }
    assert!(
        !files
            .keys()
            .any(|path| path.starts_with("target") || path.starts_with(".git/"))
    );
}

#[test]
fn lines_are_short() {
    clean(checks::line_length);
}

#[test]
fn lines_are_short_canary() {
    let text = format!("{}\n// {}\n", "x".repeat(110), "x".repeat(110));
    assert_eq!(flagged(&checks::line_length("src/a.rs", &text)), [2]);
    assert_eq!(flagged(&checks::line_length(".ci/run", &text)), [2]);
    let row = format!(
        "| {} |\nsee [x]({})\n{}\n",
        "x".repeat(120),
        "x".repeat(120),
        "é ".repeat(60)
    );
    assert_eq!(flagged(&checks::line_length("docs/a.md", &row)), [3]);
}

#[test]
fn files_hold_one_idea() {
    clean(checks::file_length);
}

#[test]
fn files_hold_one_idea_canary() {
    assert_eq!(
        flagged(&checks::file_length("src/a.rs", &"\n".repeat(700))),
        []
    );
    assert_eq!(
        flagged(&checks::file_length("src/a.rs", &"\n".repeat(701))),
        [701]
    );
}

#[test]
fn mod_files_have_no_logic() {
    clean(checks::mod_without_logic);
}

#[test]
fn mod_files_have_no_logic_canary() {
    let good = "//! A doc.\n#[cfg(test)]\nmod a;\npub(crate) mod b;\n\n\
        pub use a::{\n    C,\n    D,\n};\nuse b::E;\n";
    assert_eq!(checks::mod_without_logic("src/x/mod.rs", good), []);
    for bad in [
        "fn f() {}",
        "const A: u8 = 1;",
        "pub struct B;",
        "mod c { }",
        "impl X for Y {}",
        "a!();",
    ] {
        let text = format!("{good}{bad}\n");
        assert_eq!(
            flagged(&checks::mod_without_logic("src/x/mod.rs", &text)),
            [11],
            "{bad}"
        );
        assert_eq!(checks::mod_without_logic("tests/x/mod.rs", &text), []);
        assert_eq!(checks::mod_without_logic("src/x/other.rs", &text), []);
    }
}

#[test]
fn nothing_is_unfinished() {
    clean(checks::unfinished);
}

#[test]
fn nothing_is_unfinished_canary() {
    let code = [
        "to@do!()",
        "std::to@do!(\"x\")",
        "unimpl@emented!()",
        "db@g!(x)",
        "#[ign@ore]",
        "# [ign@ore = \"slow\"]",
    ];
    let notes = ["// FIX@ME: later", "// X@XX", "/// TO@DO(someone)"];
    for bad in code.iter().chain(&notes) {
        let text = format!("fn f() {{\n{}\n}}\n", bad.replace('@', ""));
        assert_eq!(
            flagged(&checks::unfinished("src/a.rs", &text)),
            [2],
            "{text}"
        );
    }
    for good in [
        "// what db@g! prints",
        "my_db@g!()",
        "\"to@do!\"",
        "fn ign@ore() {}",
        "let todos = 1;",
    ] {
        assert_eq!(
            checks::unfinished("src/a.rs", &good.replace('@', "")),
            [],
            "{good}"
        );
    }
    assert_eq!(
        flagged(&checks::unfinished(".ci/run", &notes[0].replace('@', ""))),
        [1]
    );
}

#[test]
fn unsafe_stays_where_it_is_listed() {
    let allowed: Vec<&str> = UNSAFE_ALLOWED.iter().map(|(path, _)| *path).collect();
    clean(|path, text| checks::unsafe_outside(path, text, &allowed));
    let files = project();
    for (path, why) in UNSAFE_ALLOWED {
        let text = files
            .get(*path)
            .unwrap_or_else(|| panic!("{path} is listed, but not there"));
        let needed = !checks::unsafe_outside(path, text, &[]).is_empty();
        assert!(needed && !why.is_empty(), "{path} is listed without need");
        assert!(
            text.contains("SAFETY: "),
            "{path} states no fact that it relies on"
        );
    }
}

#[test]
fn unsafe_stays_where_it_is_listed_canary() {
    let text = "// unsafe in prose\nlet x = \"unsafe\";\nunsafe { f() }\n#![allow(unsafe_code)]\n";
    assert_eq!(
        flagged(&checks::unsafe_outside("src/a.rs", text, &["src/b.rs"])),
        [3, 4]
    );
    assert_eq!(checks::unsafe_outside("src/a.rs", text, &["src/a.rs"]), []);
}

#[test]
fn names_tell_something() {
    clean(checks::telling_names);
}

#[test]
fn names_tell_something_canary() {
    for path in [
        "src/utils.rs",
        "src/common/mod.rs",
        "tests/helpers.rs",
        "gateway/src/manager/a.rs",
    ] {
        assert_eq!(flagged(&checks::telling_names(path, "")), [1], "{path}");
    }
    let text =
        "//! A manager.\nstruct OrderManager;\nmod common;\nenum Helper { A }\nstruct Uncommon;\n";
    assert_eq!(flagged(&checks::telling_names("src/a.rs", text)), [2, 3, 4]);
    assert_eq!(checks::telling_names("docs/community.md", text), []);
}

#[test]
fn every_source_file_says_what_it_is() {
    clean(checks::module_doc);
}

#[test]
fn every_source_file_says_what_it_is_canary() {
    for bad in ["", "\n//! Late.\n", "//!\n", "use x;\n", "// No doc.\n"] {
        assert_eq!(
            flagged(&checks::module_doc("tests/a.rs", bad)),
            [1],
            "{bad:?}"
        );
    }
    assert_eq!(checks::module_doc("tests/a.rs", "//! Says it.\n"), []);
}

#[test]
fn no_file_needs_a_certain_machine() {
    clean(checks::machine_paths);
}

#[test]
fn no_file_needs_a_certain_machine_canary() {
    for bad in [
        "see /wo@rk/x",
        "(/ho@me/me/y)",
        "\"/ro@ot/.z\"",
        "/Us@ers/me",
        "cd ../sha@red",
        "../../sha@red/x",
    ] {
        assert_eq!(
            flagged(&checks::machine_paths("docs/a.md", &bad.replace('@', ""))),
            [1],
            "{bad}"
        );
    }
    for good in [
        "net@work/x",
        "$ROOT/ro@ot/x",
        "docs/ho@me/x",
        "wo@rk/ x",
        "fake-/ho@me/",
    ] {
        assert_eq!(
            checks::machine_paths("docs/a.md", &good.replace('@', "")),
            [],
            "{good}"
        );
    }
}

#[test]
fn dependencies_point_one_way() {
    clean(checks::dependency_direction);
}

#[test]
fn dependencies_point_one_way_canary() {
    for (path, bad) in [
        ("src/types/a.rs", "use crate::time::Clock;"),
        ("src/time/a.rs", "use crate::risk::X;"),
        ("src/risk/a.rs", "fn f(x: &crate::orders::X) {}"),
        ("src/risk/a.rs", "use crate::{types::X, lanes::Y};"),
        ("src/lanes/a.rs", "pub(crate) use crate::shard;"),
        ("src/lanes/a.rs", "use crate::dispatch::X;"),
        ("src/risk/a.rs", "use crate::steps::X;"),
        ("src/orders/venue/a.rs", "use crate::shard::X;"),
        ("src/telemetry/a.rs", "use crate::risk::X;"),
        ("src/journal/a.rs", "use crate::orders::X;"),
        ("src/types/a.rs", "use crate::telemetry::X;"),
    ] {
        let text = format!("//! crate::shard in prose.\n{bad}\n");
        assert_eq!(
            flagged(&checks::dependency_direction(path, &text)),
            [2],
            "{bad}"
        );
    }
    for (path, good) in [
        ("src/risk/a.rs", "use crate::{limits, time::X, types::Y};"),
        (
            "src/shard/a.rs",
            "use crate::orders::X; use crate::journal::Y;",
        ),
        (
            "src/lanes/a.rs",
            "use crate::telemetry::X; use crate::lanes::Y; use crate::risk::Z;",
        ),
        ("src/lanes/a.rs", "use crate::steps::X;"),
        ("src/lib.rs", "pub use crate::shard::X;"),
        ("gateway/src/a/b.rs", "use crate::orders::X;"),
    ] {
        assert_eq!(checks::dependency_direction(path, good), [], "{good}");
    }
}

#[test]
fn the_core_knows_no_socket() {
    clean(checks::without_sockets);
}

#[test]
fn the_core_knows_no_socket_canary() {
    for bad in [
        "use std::net::TcpStream;",
        "tokio::spawn(x)",
        "let l: UnixListener = x;",
    ] {
        assert_eq!(
            flagged(&checks::without_sockets("src/lanes/a.rs", bad)),
            [1],
            "{bad}"
        );
        assert_eq!(
            flagged(&checks::without_sockets("gateway/src/session/a.rs", bad)),
            [1],
            "{bad}"
        );
        assert_eq!(checks::without_sockets("gateway/src/server/a.rs", bad), []);
    }
}

/// What is wrong with the Markdown pages: links that lead nowhere, and pages
/// that neither the README nor the architecture page leads to.
fn page_faults(files: &BTreeMap<String, String>, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    let mut linked = vec!["docs/architecture.md".to_string()];
    for (page, text) in files.iter().filter(|(path, _)| path.ends_with(".md")) {
        let folder = Path::new(page).parent().unwrap_or(Path::new(""));
        for (line, target) in checks::links(text) {
            let mut to = PathBuf::new();
            for part in folder.join(target).components() {
                match part {
                    std::path::Component::ParentDir => drop(to.pop()),
                    std::path::Component::CurDir => {}
                    other => to.push(other),
                }
            }
            if !exists(&to) {
                faults.push(format!("{page}:{line}: {target} leads nowhere"));
            }
            if page == "README.md" || page == "docs/architecture.md" {
                linked.push(to.to_string_lossy().into_owned());
            }
        }
    }
    for page in files
        .keys()
        .filter(|path| path.starts_with("docs/") && path.ends_with(".md"))
    {
        if !linked.contains(page) {
            faults.push(format!(
                "{page}: neither README.md nor docs/architecture.md links it"
            ));
        }
    }
    faults
}

#[test]
fn every_page_is_linked_and_every_link_leads_somewhere() {
    let faults = page_faults(&project(), |path| root().join(path).exists());
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_page_is_linked_and_every_link_leads_somewhere_canary() {
    let pages = [
        (
            "README.md",
            "[a](docs/architecture.md#top) [b](https://b.example) [c](docs/gone.md)",
        ),
        ("docs/architecture.md", "[d](../README.md) [e](wire.md)"),
        ("docs/wire.md", "[f](lost.md)"),
        ("docs/lost.md", ""),
    ];
    let files: BTreeMap<String, String> =
        pages.map(|(path, text)| (path.into(), text.into())).into();
    let faults = page_faults(&files, |path| files.contains_key(&*path.to_string_lossy()));
    assert_eq!(
        faults,
        [
            "README.md:1: docs/gone.md leads nowhere",
            "docs/lost.md: neither README.md nor docs/architecture.md links it"
        ]
    );
}

/// Source files that no module declares: nobody reads them, not even the compiler.
fn dead_files(files: &BTreeMap<String, String>) -> Vec<&str> {
    let roots = ["lib.rs", "main.rs", "build.rs"];
    let in_crate = |path: &&String| path.starts_with("src/") || path.starts_with("gateway/src/");
    let declared = |path: &str| {
        let (folder, name) = path.rsplit_once('/').expect("below src");
        if roots.contains(&name) || path.contains("/bin/") {
            return true;
        }
        // A mod.rs is named after its folder, and declared where that lies.
        let (stem, folder) = match (name.strip_suffix(".rs"), folder.rsplit_once('/')) {
            (Some("mod"), Some((above, stem))) => (stem, above),
            (stem, _) => (stem.unwrap_or(name), folder),
        };
        [
            format!("{folder}/mod.rs"),
            format!("{folder}.rs"),
            format!("{folder}/lib.rs"),
            format!("{folder}/main.rs"),
        ]
        .iter()
        .filter_map(|parent| files.get(parent))
        .any(|parent| checks::declares(parent, stem))
    };
    let sources = files
        .keys()
        .filter(|path| path.ends_with(".rs"))
        .filter(in_crate);
    sources
        .map(String::as_str)
        .filter(|path| !declared(path))
        .collect()
}

#[test]
fn every_source_file_is_compiled() {
    assert_eq!(
        dead_files(&project()),
        Vec::<&str>::new(),
        "declare them, or remove them"
    );
}

#[test]
fn every_source_file_is_compiled_canary() {
    let tree = [
        ("src/lib.rs", "pub mod a;\n// mod dead;"),
        ("src/a/mod.rs", "#[cfg(test)] mod b;"),
        ("src/a/b.rs", "pub(super) mod c;"),
        ("src/a/b/c.rs", ""),
        ("src/a/lost.rs", ""),
        ("src/dead.rs", ""),
        ("src/gone/mod.rs", ""),
    ];
    let files = tree
        .map(|(path, text)| (path.to_string(), text.to_string()))
        .into();
    assert_eq!(
        dead_files(&files),
        ["src/a/lost.rs", "src/dead.rs", "src/gone/mod.rs"]
    );
}
