//! What the crate promises, asked through what it exports.

mod catalog;
mod check;
mod deviation_file;
mod dim;
mod dtype;
mod example;
mod fit;
mod format;
mod index;
mod json;
mod meaning;
mod nearest;
mod parser;
mod probe;
mod redirects;
mod required;
mod snapshot;
mod source;
mod spans;
mod tally;
mod user_files;
mod verdict;
mod wire;
mod word;
