//! The files of a crate that ships form no large circles. Where it has rooms, no room needs one above its own. So a
//! reader of one file need not read the whole crate.
//!
//! A file needs another one if it names something in it: in a `use`, or by a path in its code. A name that a
//! module hands on (`pub use`) needs that module and the file that defines it. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::root;

/// The most files that may need each other.
const CIRCLE_MAX: usize = 3;

/// The rooms of a crate, from the floor up. To a room belong the files with paths that begin so; of several such
/// beginnings, the longest counts.
type Rooms = &'static [&'static [&'static str]];
const OF_PLANNER: Rooms =
    &[&["model"], &["course"], &["moves"], &["decide"], &["report"], &["refused"], &["lib"]];
const OF_OPERATOR: Rooms = &[
    &["clock"],
    &["args"],
    &["serve/metrics"],
    // Lease and shard permit a request; both are renewed by requests.
    &["client", "leadership/mod", "shard/mod"],
    &["write"],
    &["serve/health"],
    &["reconcile"],
    &["watch"],
    &["leadership", "shard"],
    &["serve"],
    &["operator", "commands"],
    &["lib"],
];

/// Segments of a path, such as `crate`, `keys`, `label`.
type Segments = Vec<String>;

/// A file, as far as its names go.
#[derive(Debug, Default)]
struct Module {
    file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// What `mod` declares.
    declared: BTreeSet<String>,
    /// What `use` brings in, by its name here.
    imports: BTreeMap<String, Segments>,
    /// All that is named here.
    paths: Vec<Segments>,
}

impl Module {
    fn read(file: String, text: &str) -> Self {
        let mut module = Self { file, ..Self::default() };
        module.walk(text.parse().unwrap());
        module
    }

    fn walk(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at += match &tokens[at] {
                TokenTree::Punct(sign) if sign.as_char() == '#' && is_of_tests(tokens.get(at + 1)) => {
                    item_length(&tokens[at..])
                }
                TokenTree::Ident(word) if word == "use" => {
                    let length = item_length(&tokens[at..]);
                    self.bring_in(&tokens[at + 1..at + length - 1], &[]);
                    length
                }
                TokenTree::Ident(word) if word == "mod" => {
                    // One with a body is a part of this file.
                    if tokens.get(at + 2).is_some_and(|next| is_sign(next, ';')) {
                        self.declared.insert(tokens[at + 1].to_string());
                    }
                    2
                }
                TokenTree::Ident(_) => {
                    let (path, length) = path(&tokens[at..]);
                    self.paths.push(path);
                    length
                }
                TokenTree::Group(group) => {
                    self.walk(group.stream());
                    1
                }
                _ => 1,
            };
        }
    }

    /// Follows the tree of a `use`.
    fn bring_in(&mut self, tree: &[TokenTree], prefix: &[String]) {
        for branch in tree.split(|token| is_sign(token, ',')).filter(|branch| !branch.is_empty()) {
            let (mut path, length) = path(branch);
            path.splice(0..0, prefix.iter().cloned());
            match &branch[length..] {
                [_, _, TokenTree::Group(group)] => {
                    self.bring_in(&group.stream().into_iter().collect::<Vec<_>>(), &path);
                    continue;
                }
                [TokenTree::Ident(_as), name] => _ = self.imports.insert(name.to_string(), path.clone()),
                [] => {
                    path.pop_if(|last| last == "self" && !prefix.is_empty());
                    self.imports.insert(path.last().unwrap().clone(), path.clone());
                }
                _all => path.push("*".to_owned()),
            }
            self.paths.push(path);
        }
    }
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == sign)
}

/// Whether this is `[cfg(test)]`.
fn is_of_tests(attribute: Option<&TokenTree>) -> bool {
    attribute.is_some_and(|attribute| attribute.to_string().replace(' ', "") == "[cfg(test)]")
}

/// Up to the semicolon or the braces that end an item.
fn item_length(tokens: &[TokenTree]) -> usize {
    let is_body = |group: &Group| group.delimiter() == Delimiter::Brace;
    let mut in_use = false;
    let ends = |token: &TokenTree| {
        in_use |= matches!(token, TokenTree::Ident(word) if word == "use");
        is_sign(token, ';') || matches!(token, TokenTree::Group(group) if is_body(group) && !in_use)
    };
    tokens.iter().position(ends).map_or(tokens.len(), |end| end + 1)
}

/// The words with `::` between them, and how many tokens they are.
fn path(tokens: &[TokenTree]) -> (Segments, usize) {
    let (mut segments, mut length) = (vec![tokens[0].to_string()], 1);
    while let [first, second, TokenTree::Ident(word), ..] = &tokens[length..]
        && is_sign(first, ':')
        && is_sign(second, ':')
    {
        segments.push(word.to_string());
        length += 3;
    }
    (segments, length)
}

/// The modules of a crate; the first one is its root.
#[derive(Debug)]
struct Modules(Vec<Module>);

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    Module(usize),
    /// Something in this module.
    Item(usize),
    AnotherCrate,
}

/// The text of a file, if there is one.
trait Read: Fn(&str) -> Option<String> {}
impl<F: Fn(&str) -> Option<String>> Read for F {}

impl Modules {
    /// Reads a crate, from its root on.
    fn read(root: &str, read: impl Read) -> Self {
        let mut modules = Self(vec![Module::read(root.to_owned(), &read(root).unwrap())]);
        let mut next = 0;
        while next < modules.0.len() {
            let file = modules.0[next].file.clone();
            let (folder, name) = file.rsplit_once('/').unwrap();
            let holds = ["lib.rs", "main.rs", "mod.rs"].contains(&name);
            let folder = if holds { folder } else { file.trim_end_matches(".rs") };
            for child in modules.0[next].declared.clone() {
                let files = [format!("{folder}/{child}.rs"), format!("{folder}/{child}/mod.rs")];
                let file = files.into_iter().find(|file| read(file).is_some()).unwrap();
                let text = read(&file).unwrap();
                let module = Module { parent: Some(next), ..Module::read(file, &text) };
                let index = modules.0.len();
                modules.0[next].children.insert(child, index);
                modules.0.push(module);
            }
            next += 1;
        }
        modules
    }

    /// Where a path leads that the module `at` names, and `through` which modules that hand it on.
    fn target(&self, mut at: usize, path: &[String], through: &mut BTreeSet<usize>) -> Target {
        let mut rest = path;
        while let [first, others @ ..] = rest {
            at = match first.as_str() {
                "crate" => 0,
                "self" => at,
                "super" => self.0[at].parent.unwrap(),
                _ => break,
            };
            rest = others;
        }
        let is_relative = rest.len() < path.len();
        for (passed, name) in rest.iter().enumerate() {
            let module = &self.0[at];
            if let Some(child) = module.children.get(name) {
                at = *child;
            } else if let Some(import) = module.imports.get(name).filter(|import| *import != path) {
                through.insert(at);
                match self.target(at, import, through) {
                    Target::Module(found) => at = found,
                    found => return found,
                }
            } else if is_relative || passed > 0 {
                return Target::Item(at);
            } else {
                return Target::AnotherCrate;
            }
        }
        Target::Module(at)
    }

    /// Which files a file needs.
    fn needs(&self, at: usize) -> BTreeSet<usize> {
        let module = &self.0[at];
        let is_named = |path: &&Segments| path.len() > 1 || module.imports.contains_key(&path[0]);
        let paths = module.paths.iter().filter(is_named);
        let mut needed = BTreeSet::new();
        for path in paths {
            if let Target::Item(file) = self.target(at, path, &mut needed) {
                needed.insert(file);
            }
        }
        needed.remove(&at);
        needed
    }

    /// All files that need each other, if they are more than `most`.
    fn circles(&self) -> BTreeSet<BTreeSet<&str>> {
        let needs: Vec<_> = (0..self.0.len()).map(|at| self.needs(at)).collect();
        let reached: Vec<_> = (0..self.0.len()).map(|at| reached(&needs, at)).collect();
        let circles = (0..self.0.len()).map(|at| {
            let circle = reached[at].iter().filter(|other| reached[**other].contains(&at));
            circle.map(|file| self.0[*file].file.as_str()).collect()
        });
        circles.filter(|circle: &BTreeSet<_>| circle.len() > CIRCLE_MAX).collect()
    }

    /// Which file needs which other one, each with the floor of its room.
    fn arrows(&self, rooms: Rooms) -> Vec<[(usize, &str); 2]> {
        let (folder, _) = self.0[0].file.split_at(self.0[0].file.rfind('/').unwrap() + 1);
        let at_floor = |at: usize| {
            let file = self.0[at].file.as_str();
            let name = file.strip_prefix(folder).unwrap();
            let starts =
                rooms.iter().enumerate().flat_map(|(floor, room)| room.iter().map(move |it| (it, floor)));
            let of_room = starts.filter(|(start, _)| name.starts_with(**start));
            (of_room.max_by_key(|(start, _)| start.len()).unwrap().1, file)
        };
        let arrows = (0..self.0.len()).flat_map(|at| self.needs(at).into_iter().map(move |to| [at, to]));
        arrows.map(|arrow| arrow.map(at_floor)).collect()
    }

    /// The files that need one of a room above their own, each with that one.
    fn arrows_up(&self, rooms: Rooms) -> BTreeSet<(&str, &str)> {
        let up = self.arrows(rooms).into_iter().filter(|[at, to]| to.0 > at.0);
        up.map(|[at, to]| (at.1, to.1)).collect()
    }

    /// Which room needs which other one, for the picture.
    fn plan_of_rooms(&self, rooms: Rooms) -> serde_json::Value {
        let names: Vec<_> = rooms.iter().map(|room| room.join(", ")).collect();
        let between = self.arrows(rooms).into_iter().map(|[at, to]| [at.0, to.0]);
        let between: BTreeSet<_> = between.filter(|[at, to]| at != to).collect();
        serde_json::json!({ "rooms": names, "arrows": between })
    }
}

/// All that can be reached from a file.
fn reached(needs: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(needs[file].iter().filter(|file| reached.insert(**file)));
    }
    reached
}

fn from_disk(path: &str) -> Option<String> {
    std::fs::read_to_string(root().join(path)).ok()
}

/// The roots of what ships.
fn roots() -> Vec<String> {
    let folders = ["crates", "sandbox"].into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        entries.map(move |entry| format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap()))
    });
    // The sandbox's folder has a page and a suite of tests beside the crates.
    let crates = folders.filter(|folder| root().join(folder).join("Cargo.toml").exists());
    crates.map(|folder| format!("{folder}/src/lib.rs")).chain(["src/lib.rs".to_owned()]).collect()
}

#[test]
fn no_circle_is_larger_than_three_files() {
    let roots = roots();
    assert!(roots.len() > 9, "{roots:?}");
    let crates: Vec<_> = roots.iter().map(|root| Modules::read(root, from_disk)).collect();
    assert!(crates.iter().map(|modules| modules.0.len()).sum::<usize>() > 300);
    let circles: BTreeSet<_> = crates.iter().flat_map(Modules::circles).collect();
    assert_eq!(circles, BTreeSet::new());
}

/// Files by path.
fn planted<const N: usize>(files: [(&str, &str); N]) -> impl Read {
    let files: BTreeMap<_, _> = files.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
    move |path| files.get(path).cloned()
}

#[test]
fn a_planted_circle_is_found() {
    let with = |last: &'static str| {
        let files = planted([
            ("a/lib.rs", "mod b; mod c; mod d; mod keys; pub use b::{Kept, Other as Handed};"),
            // By a group, by a module that is brought in, by a parent, and by a name that the root hands on.
            ("a/b.rs", "use crate::{keys, c::{self, X}}; #[cfg(test)] mod tests { use super::*; }"),
            ("a/c.rs", "use crate::d; fn f() -> d::e::E { d::e::new() }"),
            ("a/d/mod.rs", "pub(super) mod e;"),
            ("a/d/e.rs", "struct E; fn new() -> E { super::super::keys::f(\"crate::Kept\") }"),
            ("a/keys.rs", last),
        ]);
        Modules::read("a/lib.rs", files)
    };
    let harmless = ["// crate::Handed", "use b::Kept;", "#[cfg(test)] mod tests { use crate::Handed; }"];
    for text in harmless {
        assert_eq!(with(text).circles(), BTreeSet::new(), "{text}");
    }
    let circle = ["a/b.rs", "a/c.rs", "a/d/e.rs", "a/keys.rs"];
    let direct = BTreeSet::from(circle);
    // A file that hands a name on is in the circle, too.
    let handed: BTreeSet<_> = circle.into_iter().chain(["a/lib.rs"]).collect();
    for (text, circle) in [
        ("use crate::b::{Kept as B};", direct),
        ("use crate::Handed;", handed.clone()),
        ("fn f() { super::Kept::new() }", handed),
    ] {
        assert_eq!(with(text).circles(), BTreeSet::from([circle]), "{text}");
    }
}

#[test]
fn arrows_between_rooms_point_down() {
    for (root, rooms) in [("crates/plan/src/lib.rs", OF_PLANNER), ("src/lib.rs", OF_OPERATOR)] {
        assert_eq!(Modules::read(root, from_disk).arrows_up(rooms), BTreeSet::new());
    }
}

/// `UPDATE=1` records them again, for `make pictures`.
#[test]
fn the_picture_of_rooms_shows_all_arrows() {
    let of = |root: &str, rooms| Modules::read(root, from_disk).plan_of_rooms(rooms);
    let plan = serde_json::json!({
        "crates/plan": of("crates/plan/src/lib.rs", OF_PLANNER),
        "the operator": of("src/lib.rs", OF_OPERATOR),
    });
    let path = root().join("docs/pictures/rooms.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{plan}\n")).unwrap();
    }
    let stored: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(stored, plan, "UPDATE=1 cargo test -p engine circles, and make pictures");
}

#[test]
fn a_planted_arrow_is_found() {
    let with = |text: &'static str| {
        let root = ("a/lib.rs", "mod low; mod high;");
        let high = ("a/high/mod.rs", "use crate::low::Y; struct X;");
        Modules::read("a/lib.rs", planted([root, high, ("a/low.rs", text)]))
    };
    let rooms: Rooms = &[&["low"], &["high"], &["lib"]];
    assert_eq!(with("struct Y;").arrows_up(rooms), BTreeSet::new());
    for text in ["use crate::high::X;", "use crate::{high, low};\nfn f(_: high::X) {}", "use super::high::X;"]
    {
        assert_eq!(with(text).arrows_up(rooms), BTreeSet::from([("a/low.rs", "a/high/mod.rs")]), "{text}");
    }
}

#[test]
fn a_circle_that_only_names_handed_on_close_is_found() {
    let files = planted([
        ("a/lib.rs", "mod b; mod c; mod d; mod e; pub use b::B; pub use e::E;"),
        ("a/b.rs", "use crate::c::C;"),
        ("a/c.rs", "use crate::d::D;"),
        ("a/d.rs", "use crate::E;"),
        ("a/e.rs", "struct E;"),
    ]);
    let circle = BTreeSet::from(["a/b.rs", "a/c.rs", "a/d.rs", "a/lib.rs"]);
    assert_eq!(Modules::read("a/lib.rs", files).circles(), BTreeSet::from([circle]));
}
