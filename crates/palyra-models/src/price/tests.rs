use proptest::prelude::*;

use super::*;

const PRICE: Price =
    Price { input: MicroUsd(2_500_000), cached_input: MicroUsd(1_250_000), output: MicroUsd(1) };

fn usage(input_tokens: u64, cached_input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, cached_input_tokens }
}

#[test]
fn a_price_is_for_a_million_tokens_and_what_is_begun_is_charged() {
    assert_eq!(cost(usage(1_000_000, 0, 0), PRICE), MicroUsd(2_500_000));
    assert_eq!(cost(usage(1_000_000, 1_000_000, 0), PRICE), MicroUsd(1_250_000));
    assert_eq!(cost(usage(0, 0, 1), PRICE), MicroUsd(1));
    assert_eq!(cost(usage(0, 0, 0), PRICE), MicroUsd(0));
    assert_eq!(MicroUsd(2_500_001).to_string(), "$2.500001");
}

#[test]
fn more_from_a_cache_than_was_read_is_not_believed() {
    assert_eq!(cost(usage(2, 9, 0), PRICE), cost(usage(2, 2, 0), PRICE));
}

#[test]
fn too_much_is_the_most_there_is() {
    let dear = Price { input: MicroUsd(u64::MAX), cached_input: MicroUsd(0), output: MicroUsd(0) };
    assert_eq!(cost(usage(u64::MAX, 0, 0), dear), MicroUsd(u64::MAX));
    let both = Price { output: MicroUsd(u64::MAX), ..dear };
    assert_eq!(cost(usage(u64::MAX, 0, u64::MAX), both), MicroUsd(u64::MAX));
}

#[test]
fn the_worst_is_more_than_what_comes() {
    let request = ModelRequest {
        system: Some("be kind".into()),
        turns: vec![crate::Turn::user("the quick brown fox ".repeat(50))],
        max_output_tokens: 100,
        ..ModelRequest::default()
    };
    let price = Price { output: MicroUsd(10_000_000), ..PRICE };
    let told = usage(count_request(&request), 0, 100);
    assert!(worst_cost(&request, price, 4_096) > cost(told, price));
    assert!(worst_cost(&request, price, 10) < worst_cost(&request, price, 100));
    assert_eq!(worst_cost(&request, Price::default(), 100), MicroUsd(0));
}

prop_compose! {
    fn prices()(input in 0..1_u64 << 40, cached in 0..1_u64 << 40, output in 0..1_u64 << 40)
        -> Price
    {
        Price { input: MicroUsd(input), cached_input: MicroUsd(cached), output: MicroUsd(output) }
    }
}

proptest! {
    /// Nothing is given away by rounding, and not more than the part that was begun is charged.
    #[test]
    fn a_cost_is_exact_but_for_what_was_begun(
        price in prices(), input in 0..1_u64 << 20, cached in 0..1_u64 << 20, output in 0..1_u64 << 20,
    ) {
        let micros = u128::from(cost(usage(input, cached, output), price).0) * TOKENS_OF_A_PRICE;
        let cached = cached.min(input);
        let exact = u128::from(input - cached) * u128::from(price.input.0)
            + u128::from(cached) * u128::from(price.cached_input.0)
            + u128::from(output) * u128::from(price.output.0);
        prop_assert!(micros >= exact && micros - exact < TOKENS_OF_A_PRICE);
    }

    /// Two answers cost at least what one of their size would, and more tokens never less.
    #[test]
    fn more_never_costs_less(price in prices(), a in any::<[u32; 3]>(), b in any::<[u32; 3]>()) {
        let of = |[i, c, o]: [u32; 3]| usage(u64::from(i) + u64::from(c), c.into(), o.into());
        let (one, two) = (of(a), of(b));
        let both = usage(
            one.input_tokens + two.input_tokens,
            one.cached_input_tokens + two.cached_input_tokens,
            one.output_tokens + two.output_tokens,
        );
        let apart = cost(one, price).saturating_add(cost(two, price));
        prop_assert!(cost(both, price) <= apart);
        prop_assert!(cost(both, price) >= cost(one, price));
    }

    #[test]
    fn nothing_overflows(price in any::<[u64; 3]>(), used in any::<[u64; 3]>()) {
        let [input, cached_input, output] = price.map(MicroUsd);
        cost(usage(used[0], used[1], used[2]), Price { input, cached_input, output });
    }
}
