//! No two files of a crate need each other. An edge goes to the file that defines an item: imports
//! and paths in code are followed through re-exports; what is for tests alone does not count.
#![expect(clippy::disallowed_methods, reason = "reads the sources, which is the point")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use qkvet_tests::{Folder, root, temp};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, UseTree};

/// Crates whose files still lead in circles, with how many such groups there are.
const NOT_YET: [(&str, usize); 5] =
    [("spec", 2), ("engine", 5), ("prove", 5), ("gen", 2), ("exam", 3)];

/// Re-exports of re-exports.
const MAX_DEPTH: usize = 20;

#[derive(Default)]
struct Module {
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    /// The name that an import binds, or `*`, and what it stands for.
    imports: Vec<(String, Vec<String>)>,
    /// Paths of several parts in its code.
    paths: BTreeSet<Vec<String>>,
}

/// The modules of a crate, the root first.
struct Modules {
    all: Vec<Module>,
    files: Vec<PathBuf>,
    /// Of each file that of its submodules.
    folders: Vec<PathBuf>,
}

impl Modules {
    fn read(file: &Path) -> Self {
        let mut modules = Self { all: Vec::new(), files: Vec::new(), folders: Vec::new() };
        modules.add_file(file, file.parent().expect("a folder"), None);
        modules
    }

    fn add_file(&mut self, file: &Path, folder: &Path, parent: Option<usize>) -> usize {
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{file:?}: {e}"));
        self.files.push(file.to_owned());
        self.folders.push(folder.to_owned());
        self.add(self.files.len() - 1, parsed.items, folder, parent)
    }

    fn add(
        &mut self,
        file: usize,
        items: Vec<Item>,
        folder: &Path,
        parent: Option<usize>,
    ) -> usize {
        let at = self.all.len();
        self.all.push(Module { file, parent, ..Module::default() });
        for item in items {
            let (attributes, name) = about(&item);
            if attributes.iter().any(is_of_tests) {
                continue;
            }
            match item {
                Item::Mod(module) => {
                    let name = module.ident.to_string();
                    let below = folder.join(&name);
                    let child = match module.content {
                        Some((_, items)) => self.add(file, items, &below, Some(at)),
                        None => {
                            let flat = folder.join(format!("{name}.rs"));
                            let file = if flat.is_file() { flat } else { below.join("mod.rs") };
                            self.add_file(&file, &below, Some(at))
                        }
                    };
                    self.all[at].children.insert(name, child);
                }
                Item::Use(ItemUse { tree, .. }) => imports(&tree, &[], &mut self.all[at].imports),
                item => {
                    self.all[at].items.extend(name);
                    Paths(&mut self.all[at].paths).visit_item(&item);
                }
            }
        }
        at
    }

    /// The file that defines what a path in a module stands for; `None` for what is of other
    /// crates, and for a module as a whole.
    fn definer(&self, from: usize, path: &[String], depth: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.below(0, rest, depth),
            "self" => self.below(from, rest, depth),
            "super" => {
                let mut at = self.all[from].parent?;
                let mut rest = rest;
                while let Some(("super", more)) = rest.split_first().map(|(x, y)| (x.as_str(), y)) {
                    (at, rest) = (self.all[at].parent?, more);
                }
                self.below(at, rest, depth)
            }
            name => {
                let module = &self.all[from];
                let is_known = module.children.contains_key(name)
                    || module.items.contains(name)
                    || module.imports.iter().any(|(bound, _)| bound == name || bound == "*");
                is_known.then(|| self.below(from, path, depth)).flatten()
            }
        }
    }

    fn below(&self, mut at: usize, path: &[String], depth: usize) -> Option<usize> {
        for (n, name) in path.iter().enumerate() {
            let module = &self.all[at];
            if let Some(child) = module.children.get(name) {
                at = *child;
                continue;
            }
            if module.items.contains(name) {
                return Some(module.file);
            }
            let deeper = depth.checked_sub(1)?;
            let follow = |(bound, whole): &(String, Vec<String>)| {
                let skip = usize::from(bound != "*");
                let whole = [whole, &path[n + skip..]].concat();
                // `use super::x` of this very name leads nowhere new.
                self.definer(at, &whole, deeper)
            };
            let named = module.imports.iter().filter(|(bound, _)| bound == name);
            let globs = module.imports.iter().filter(|(bound, _)| bound == "*");
            return named.chain(globs).find_map(follow);
        }
        None
    }

    /// Groups of files each of which needs the others, by their names below the crate.
    fn circles(&self) -> Vec<Vec<String>> {
        let mut edges = vec![BTreeSet::new(); self.files.len()];
        for (at, module) in self.all.iter().enumerate() {
            let of_imports = module.imports.iter().map(|(_, path)| path);
            for path in of_imports.chain(&module.paths) {
                // A module stands on what lies in its folder.
                let counts = |file: &usize| {
                    *file != module.file
                        && !self.files[*file].starts_with(&self.folders[module.file])
                };
                edges[module.file].extend(self.definer(at, path, MAX_DEPTH).filter(counts));
            }
        }
        let reached = |from: usize| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(at) = open.pop() {
                open.extend(edges[at].iter().copied().filter(|next| seen.insert(*next)));
            }
            seen
        };
        let all: Vec<BTreeSet<usize>> = (0..self.files.len()).map(reached).collect();
        let folder = self.files[0].parent().expect("a folder");
        let name = |file: &usize| {
            let path = self.files[*file].strip_prefix(folder).expect("below");
            path.display().to_string()
        };
        let mut groups = BTreeSet::new();
        for (at, reached) in all.iter().enumerate().filter(|(at, reached)| reached.contains(at)) {
            let group = reached.iter().filter(|other| all[**other].contains(&at));
            groups.insert(group.map(name).collect::<Vec<_>>());
        }
        groups.into_iter().collect()
    }
}

/// Collects paths of several parts.
struct Paths<'a>(&'a mut BTreeSet<Vec<String>>);

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.0.insert(path.segments.iter().map(|part| part.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        // Arguments of macros are tokens: paths in them are names joined by `::`.
        let text = item.tokens.to_string().replace(" :: ", "::");
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        for word in text.split(|c| !is_part(c)).filter(|word| word.contains("::")) {
            let parts: Vec<String> =
                word.split("::").map(str::to_owned).filter(|part| !part.is_empty()).collect();
            if parts.len() > 1 && parts.iter().all(|part| !part.contains(':')) {
                self.0.insert(parts);
            }
        }
    }
}

/// Attributes of an item, and the name that it defines.
fn about(item: &Item) -> (&[Attribute], Option<String>) {
    fn named<'a>(all: &'a [Attribute], name: &syn::Ident) -> (&'a [Attribute], Option<String>) {
        (all, Some(name.to_string()))
    }
    match item {
        Item::Const(item) => named(&item.attrs, &item.ident),
        Item::Enum(item) => named(&item.attrs, &item.ident),
        Item::Fn(item) => named(&item.attrs, &item.sig.ident),
        Item::Static(item) => named(&item.attrs, &item.ident),
        Item::Struct(item) => named(&item.attrs, &item.ident),
        Item::Trait(item) => named(&item.attrs, &item.ident),
        Item::Type(item) => named(&item.attrs, &item.ident),
        Item::Union(item) => named(&item.attrs, &item.ident),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref().map(ToString::to_string)),
        Item::Mod(item) => (&item.attrs, None),
        Item::Use(item) => (&item.attrs, None),
        Item::Impl(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

fn is_of_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.meta.require_list().is_ok_and(|list| {
            list.tokens.to_string().split(|c: char| !c.is_alphanumeric()).any(|word| word == "test")
        })
}

fn imports(tree: &UseTree, before: &[String], found: &mut Vec<(String, Vec<String>)>) {
    let with = |name: &dyn std::fmt::Display| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => imports(&path.tree, &with(&path.ident), found),
        UseTree::Name(name) if name.ident == "self" => {
            found.push((before.last().cloned().unwrap_or_default(), before.to_vec()));
        }
        UseTree::Name(name) => found.push((name.ident.to_string(), with(&name.ident))),
        UseTree::Rename(name) => found.push((name.rename.to_string(), with(&name.ident))),
        UseTree::Glob(_) => found.push(("*".to_owned(), before.to_vec())),
        UseTree::Group(group) => group.items.iter().for_each(|one| imports(one, before, found)),
    }
}

#[test]
fn no_file_needs_one_that_needs_it() {
    let mut wrong = Vec::new();
    for name in [
        "spec", "engine", "prove", "gen", "diagnose", "run", "report", "exam", "cli", "qkvet", "py",
    ] {
        let folder = root().join("crates").join(name).join("src");
        let file = ["lib.rs", "main.rs"].map(|file| folder.join(file));
        let file = file.iter().find(|file| file.is_file()).expect("a root");
        let circles = Modules::read(file).circles();
        let known = NOT_YET.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
        if circles.len() != known {
            let all = circles.iter().map(|circle| format!("  {}", circle.join(", ")));
            wrong.push(format!(
                "{name}: {} of {known}\n{}",
                circles.len(),
                all.collect::<Vec<_>>().join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_through_re_exports_and_paths() {
    let folder = temp();
    folder.write(
        "lib.rs",
        "mod a;\nmod b;\nmod c;\npub use b::Two;\nmod used { pub use crate::c::*; }\n",
    );
    folder.write("a.rs", "use crate::Two;\npub struct One(Two);\n");
    folder.write("b.rs", "pub struct Two;\nfn f() { crate::used::three() }\n");
    folder.write("c.rs", "pub fn three() { println!(\"{}\", crate::a::One::SIZE) }\n");
    let read = || Modules::read(&folder.path().join("lib.rs")).circles();
    assert_eq!(read(), [["a.rs", "b.rs", "c.rs"]]);
    folder.write("c.rs", "pub fn three() {}\n#[cfg(test)]\nmod tests { use crate::a::One; }\n");
    assert!(read().is_empty());
}
