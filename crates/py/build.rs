//! What the linker of some systems is told: the symbols of Python come with the process that loads
//! the library.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
