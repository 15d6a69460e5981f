//! tmp
use qkvet_engine::head::*;
use qkvet_engine::{bound::bound, enclosure::enclose};
fn main() {
    let mut st = 88172645463325252u64;
    let mut u = || { st ^= st << 13; st ^= st >> 7; st ^= st << 17; (st >> 11) as f64 / (1u64 << 53) as f64 };
    for n in [512usize, 2048] {
        let d = 64;
        let mut v = || -> Vec<f64> { (0..n * d).map(|_| (u() + u() + u() + u() - 2.0) * 1.7).collect() };
        let (q, k, w) = (v(), v(), v());
        let head = Head { n_q: n, n_k: n, d_k: d, d_v: d, query: &q, key: &k, value: &w, scale: RealScale::inverse_sqrt(d), bias: None, visible: Visible::All, normalization: Normalization::OverKeys, empty_row: EmptyRow::Zero };
        let t = std::time::Instant::now();
        let e = enclose(&head);
        let t1 = t.elapsed();
        let c: qkvet_spec::Contract = serde_yaml::from_str(include_str!("../../../specs/contracts/bf16-unfused.yaml")).unwrap();
        let b = bound(&head, &e, &c);
        let t2 = t.elapsed();
        let mut r = e.rad.clone(); r.sort_by(f64::total_cmp);
        println!("n={n} enclose {t1:?} bound {:?} med rad {:e} bound {:e}", t2 - t1, r[r.len() / 2], b.hard[7]);
        let t = std::time::Instant::now();
        let s = qkvet_engine::selftest::self_test();
        println!("{s:?} {:?}", t.elapsed());
    }
}
