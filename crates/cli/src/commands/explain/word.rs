//! Words of the language of laws, one by one.

use qkvet_report::{hanging, paragraph};
use qkvet_spec::{Catalog, Word};

/// The words of this name: `where` is a function and a field.
pub(super) fn called(name: &str) -> Vec<Word> {
    Word::all().into_iter().filter(|word| word.name == name).collect()
}

pub(super) fn explain_of_language(word: &Word, catalog: &Catalog) {
    say!("{} {}\n\n{}\n", word.kind.name(), word.usage, paragraph(&word.meaning));
    if let Some((parts, whole)) = word.types() {
        let width = parts.iter().map(|(part, _)| part.len()).max().unwrap_or(0).max(5);
        for (part, ty) in &parts {
            say!("{part:width$}  {ty}");
        }
        say!("{:width$}  {whole}", "is");
    }
    let law = word.law(catalog.laws.values());
    if let Some((law, line)) = law.and_then(|law| Some((law, word.line_in(law)?))) {
        say!("law    {}\n{}", law.law.law, hanging("       ", &line, "       "));
    }
    let laws = catalog.laws.values().filter(|law| word.is_in(law)).count();
    say!("laws   {laws} of {} use it", catalog.laws.len());
}
