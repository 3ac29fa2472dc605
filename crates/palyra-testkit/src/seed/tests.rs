use std::time::Duration;

use super::Seed;

#[test]
fn the_generator_is_the_published_one() {
    // The first outputs of SplitMix64 for the seed 1234567.
    let mut rng = Seed::new(1_234_567).rng();
    let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
    assert_eq!(
        first,
        [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
    );
}

#[test]
fn choices_stay_in_their_range_and_reach_its_ends() {
    let mut rng = Seed::new(7).rng();
    let mut seen = [0; 5];
    for _ in 0..1000 {
        seen[usize::try_from(rng.within(10..15) - 10).unwrap()] += 1;
    }
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
    assert_eq!(rng.within(3..3), 3);

    let range = Duration::from_millis(2)..Duration::from_millis(4);
    assert!((0..1000).all(|_| range.contains(&rng.duration(range.clone()))));
}

#[test]
fn a_chance_comes_true_as_often_as_it_should() {
    let mut rng = Seed::new(7).rng();
    let mut hits = |probability| (0..10_000).filter(|_| rng.chance(probability)).count();
    assert_eq!(hits(0.0), 0);
    assert_eq!(hits(1.0), 10_000);
    assert!((2_700..3_300).contains(&hits(0.3)));
}

#[test]
fn a_seed_is_an_unsigned_number() {
    assert_eq!(Seed::parse(" 42\n").unwrap(), Seed::new(42));
    let error = Seed::parse("-1").unwrap_err().to_string();
    assert_eq!(error, "\"-1\" is no unsigned number");
}
