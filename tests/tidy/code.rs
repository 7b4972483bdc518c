//! Rust source with its comments and literals blanked out, so that a check
//! that looks for words of code does not find them in prose.
//!
//! It knows comments (nested ones too), strings (raw ones too) and characters;
//! lines and columns stay where they were.

/// What the scanner is inside of.
enum Inside {
    Code,
    LineComment,
    BlockComment { depth: u32 },
    Text { raw_hashes: Option<usize> },
}

/// `source` with every character of a comment or a literal turned into a blank.
pub(crate) fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut inside = Inside::Code;
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let (width, keep, next) = step(&inside, rest, previous(&chars, at));
        for &c in &rest[..width] {
            out.push(if keep || c == '\n' { c } else { ' ' });
        }
        at += width;
        inside = next;
    }
    out
}

fn previous(chars: &[char], at: usize) -> Option<char> {
    at.checked_sub(1).map(|before| chars[before])
}

/// How far to go, whether to keep it, and what comes after.
fn step(inside: &Inside, rest: &[char], before: Option<char>) -> (usize, bool, Inside) {
    match *inside {
        Inside::Code => step_in_code(rest, before),
        Inside::LineComment if rest[0] == '\n' => (1, true, Inside::Code),
        Inside::LineComment => (1, false, Inside::LineComment),
        Inside::BlockComment { depth } => {
            let next = |depth| {
                if depth == 0 {
                    Inside::Code
                } else {
                    Inside::BlockComment { depth }
                }
            };
            match rest {
                ['*', '/', ..] => (2, false, next(depth - 1)),
                ['/', '*', ..] => (2, false, next(depth + 1)),
                _ => (1, false, next(depth)),
            }
        }
        Inside::Text { raw_hashes: None } => match rest {
            ['\\', _, ..] => (2, false, Inside::Text { raw_hashes: None }),
            ['"', ..] => (1, false, Inside::Code),
            _ => (1, false, Inside::Text { raw_hashes: None }),
        },
        Inside::Text {
            raw_hashes: Some(hashes),
        } => {
            let closed =
                rest[0] == '"' && rest[1..].iter().take_while(|&&c| c == '#').count() >= hashes;
            if closed {
                (1 + hashes, false, Inside::Code)
            } else {
                (
                    1,
                    false,
                    Inside::Text {
                        raw_hashes: Some(hashes),
                    },
                )
            }
        }
    }
}

fn step_in_code(rest: &[char], before: Option<char>) -> (usize, bool, Inside) {
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    match rest {
        ['/', '/', ..] => (2, false, Inside::LineComment),
        ['/', '*', ..] => (2, false, Inside::BlockComment { depth: 1 }),
        ['"', ..] => (1, false, Inside::Text { raw_hashes: None }),
        ['r', '"' | '#', ..] if !in_word || before == Some('b') => {
            let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
            match rest.get(1 + hashes) {
                Some('"') => (
                    2 + hashes,
                    false,
                    Inside::Text {
                        raw_hashes: Some(hashes),
                    },
                ),
                _ => (1, true, Inside::Code), // A raw identifier.
            }
        }
        // A character, but no lifetime: 'a is closed by no quote.
        ['\'', '\\', ..] => {
            let end = rest[2..]
                .iter()
                .skip(1)
                .position(|&c| c == '\'')
                .map_or(rest.len(), |n| n + 4);
            (end, false, Inside::Code)
        }
        ['\'', _, '\'', ..] => (3, false, Inside::Code),
        _ => (1, true, Inside::Code),
    }
}

/// The words of code of a line, in order: identifiers and keywords.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

#[test]
fn comments_and_literals_are_blanked_and_nothing_else() {
    for (source, code) in [
        ("let a = 1; // b", "let a = 1;     "),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"f("b \" c", d)"#, r#"f(        , d)"#),
        (r##"f(r#"b " c"#, d)"##, r##"f(          , d)"##),
        (r#"f(br"b\", d)"#, r#"f(b     , d)"#),
        (r"f('b', '\'', '\u{1}', d)", "f(   ,     ,        , d)"),
        ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
        ("\"a\nb\" c", "  \n   c"),
        ("r#type", "r#type"),
    ] {
        assert_eq!(code_only(source), code, "{source}");
    }
}
