use std::fmt::Write;

use palyra_common::runtime_contracts::{Role, Scope};

use super::{role_allows, role_scopes};

#[test]
fn the_whole_matrix_is_as_reviewed() {
    let mut matrix = format!("{:<17}", "");
    for role in Role::ALL {
        write!(matrix, " {role:<9}").unwrap();
    }
    for scope in Scope::ALL {
        write!(matrix, "\n{scope:<17}").unwrap();
        for role in Role::ALL {
            let verdict = if role_allows(*role, *scope) { "yes" } else { "-" };
            write!(matrix, " {verdict:<9}").unwrap();
        }
    }
    let lines: Vec<&str> = matrix.lines().map(str::trim_end).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_lesser_role_has_nothing_that_a_greater_one_lacks() {
    for pair in Role::ALL.windows(2) {
        let (greater, lesser) = (role_scopes(pair[0]), role_scopes(pair[1]));
        assert_eq!(lesser.first_outside(greater), None, "{pair:?}");
    }
}
