//! The schema file and the structs are the same protocol.

use pitlane::types::{OrderType, RejectCode, RejectScope, Side, TimeInForce};
use pitlane_gateway::wire::{
    self, EstablishmentRejectReason, KeepAliveLapsed, NegotiationRejectReason, TEMPLATES,
    TerminateReason,
};
use roxmltree::{Document, Node};

const SCHEMA: &str = include_str!("../schema/pitlane.xml");

fn elements<'a>(parent: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    parent
        .children()
        .filter(move |node| node.is_element() && node.tag_name().name() == name)
}

fn number(node: Node<'_, '_>, attribute: &str) -> usize {
    let text = node
        .attribute(attribute)
        .unwrap_or_else(|| panic!("{node:?} has no {attribute}"));
    text.parse()
        .unwrap_or_else(|_| panic!("{attribute} of {node:?}: {text}"))
}

fn primitive(name: &str) -> (&'static str, usize) {
    match name {
        "uint8" | "char" => ("u8", 1),
        "int8" => ("i8", 1),
        "uint16" => ("u16", 2),
        "uint32" => ("u32", 4),
        "uint64" => ("u64", 8),
        "int64" => ("i64", 8),
        other => panic!("primitive type {other}"),
    }
}

/// What a type of the schema is in Rust, and how long.
fn resolve(types: Node<'_, '_>, name: &str) -> (String, usize) {
    let node = types
        .children()
        .find(|node| node.is_element() && node.attribute("name") == Some(name))
        .unwrap_or_else(|| panic!("type {name} is not in the schema"));
    match node.tag_name().name() {
        "type" => {
            let (rust, size) = primitive(node.attribute("primitiveType").unwrap());
            match node.attribute("length") {
                None => (rust.to_owned(), size),
                Some(length) => {
                    let length: usize = length.parse().unwrap();
                    (format!("[{rust}; {length}]"), size * length)
                }
            }
        }
        "enum" => {
            let (rust, size) = primitive(node.attribute("encodingType").unwrap());
            (rust.to_owned(), size)
        }
        "composite" => {
            let mut parts = elements(node, "type")
                .filter(|part| part.attribute("presence") != Some("constant"))
                .map(|part| primitive(part.attribute("primitiveType").unwrap()));
            let (rust, size) = parts.next().unwrap();
            assert!(parts.next().is_none(), "{name} has one encoded part");
            (rust.to_owned(), size)
        }
        other => panic!("{name} is a {other}"),
    }
}

fn camel(snake: &str) -> String {
    let mut out = String::new();
    let mut upper = false;
    for c in snake.chars() {
        if c == '_' {
            upper = true;
        } else if upper {
            out.extend(c.to_uppercase());
            upper = false;
        } else {
            out.push(c);
        }
    }
    out
}

#[test]
fn g01_header_and_framing_are_those_of_the_schema() {
    let document = Document::parse(SCHEMA).unwrap();
    let root = document.root_element();
    assert_eq!(number(root, "id"), usize::from(wire::SCHEMA_ID));
    assert_eq!(number(root, "version"), usize::from(wire::SCHEMA_VERSION));
    assert_eq!(root.attribute("byteOrder"), Some("littleEndian"));
    let types = elements(root, "types").next().unwrap();
    let header = elements(types, "composite")
        .find(|node| node.attribute("name") == root.attribute("headerType"))
        .unwrap();
    let parts: Vec<_> = elements(header, "type")
        .map(|part| {
            (
                part.attribute("name").unwrap(),
                part.attribute("primitiveType").unwrap(),
            )
        })
        .collect();
    assert_eq!(
        parts,
        [
            ("blockLength", "uint16"),
            ("templateId", "uint16"),
            ("schemaId", "uint16"),
            ("version", "uint16"),
        ]
    );
    assert_eq!(wire::HEADER_LENGTH, 8);
    assert_eq!(wire::BLOCK_START, 12);
}

#[test]
fn g01_every_field_is_that_of_the_schema() {
    let document = Document::parse(SCHEMA).unwrap();
    let root = document.root_element();
    let types = elements(root, "types").next().unwrap();
    let messages: Vec<_> = elements(root, "message").collect();
    assert_eq!(messages.len(), TEMPLATES.len());
    for (message, template) in messages.iter().zip(TEMPLATES) {
        let name = message.attribute("name").unwrap();
        assert_eq!(name, template.name);
        assert_eq!(number(*message, "id"), usize::from(template.id), "{name}");
        assert_eq!(
            number(*message, "blockLength"),
            template.block_length,
            "{name}"
        );
        let fields: Vec<_> = elements(*message, "field").collect();
        let ours: Vec<_> = template.head.iter().chain(template.fields).collect();
        assert_eq!(fields.len(), ours.len(), "{name}");
        let mut end = 0;
        for (index, (field, ours)) in fields.iter().zip(&ours).enumerate() {
            let at = format!("{name}.{}", ours.name);
            assert_eq!(field.attribute("name").unwrap(), camel(ours.name), "{at}");
            assert_eq!(field.attribute("type").unwrap(), ours.schema_type, "{at}");
            assert_eq!(number(*field, "offset"), ours.offset, "{at}");
            assert_eq!(number(*field, "id"), index + 1, "{at}");
            let (rust, size) = resolve(types, ours.schema_type);
            assert_eq!(rust, ours.rust_type, "{at}");
            assert_eq!(size, ours.size, "{at}");
            assert_eq!(ours.offset, end, "{at}: no gap, no overlap");
            end += ours.size;
        }
        assert_eq!(end, template.block_length, "{name}");
        assert_eq!(end % 8, 0, "{name}: the struct has no padding of its own");
    }
}

#[test]
fn g01_every_enum_is_that_of_the_schema() {
    let document = Document::parse(SCHEMA).unwrap();
    let types = elements(document.root_element(), "types").next().unwrap();
    let mut seen = 0;
    let mut same = |name: &str, ours: Vec<(String, usize)>| {
        let node = elements(types, "enum")
            .find(|node| node.attribute("name") == Some(name))
            .unwrap_or_else(|| panic!("enum {name}"));
        let theirs: Vec<_> = elements(node, "validValue")
            .map(|value| {
                (
                    value.attribute("name").unwrap().to_owned(),
                    value.text().unwrap().parse::<usize>().unwrap(),
                )
            })
            .collect();
        assert_eq!(theirs, ours, "{name}");
        seen += 1;
    };
    macro_rules! ours {
        ($type:ident) => {
            same(
                stringify!($type),
                $type::ALL
                    .iter()
                    .map(|value| (value.name().to_owned(), usize::from(value.number())))
                    .collect(),
            )
        };
        ($type:ident: $($value:ident)*) => {
            same(
                stringify!($type),
                vec![$((stringify!($value).to_owned(), $type::$value as usize),)*],
            )
        };
    }
    ours!(KeepAliveLapsed);
    ours!(NegotiationRejectReason);
    ours!(EstablishmentRejectReason);
    ours!(TerminateReason);
    ours!(RejectCode);
    ours!(Side: Buy Sell);
    ours!(OrderType: Market Limit Stop StopLimit PostOnly);
    ours!(TimeInForce: Day GoodTillCancel ImmediateOrCancel FillOrKill);
    ours!(RejectScope: Order Account);
    assert_eq!(
        seen,
        elements(types, "enum").count(),
        "every enum is compared"
    );
}
