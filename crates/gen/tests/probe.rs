use qkvet_spec::Catalog;
use qkvet_gen::*;
#[test]
fn probe() {
    let c = Catalog::embedded().unwrap_or_else(|e| panic!("{e}"));
    for name in ["smoke","core"] {
        let suite = &c.suites[name];
        check_suite(suite).unwrap();
        let laws = c.suite_laws(suite).unwrap();
        let t = std::time::Instant::now();
        let ps = plans(suite, &laws, &suite.dtypes, 0);
        println!("{name} {} plans {:?}", ps.len(), t.elapsed());
        let t = std::time::Instant::now();
        let mut el=0; let mut hash=0;
        let mut by: std::collections::BTreeMap<&str,usize> = Default::default();
        for p in &ps { let l = laws.iter().find(|l| l.law.law==p.law).unwrap(); *by.entry(&p.law).or_default()+=1;
            let case = build(l,p).unwrap_or_else(|e| panic!("{p:?}\n{e}"));
            for b in case.bindings.values() { if let qkvet_spec::Binding::Matrices(m)=b { el+=m.data.len(); } }
            let id = case_id(&case); hash += id.len();
            let text = to_json(&case);
            if p.dims.n_k<5 && p.mask.is_some() && p.bias.is_some() && p.dims.b<3 { println!("{}", text.lines().take(40).collect::<Vec<_>>().join("\n")); }
            assert_eq!(from_json(&text).unwrap_or_else(|e| panic!("{e}")), case);
        }
        println!("built {el} elements {:?} {hash}\n{by:?}", t.elapsed());
    }
}
