//! Writes violations for a person: by rule, then by place, each with what to do.

use std::fmt::Write as _;

use super::model::Violation;

pub(crate) fn render<'a>(
    rules: impl Iterator<Item = &'a str>,
    violations: &[Violation],
    files: usize,
) -> String {
    let mut report = String::new();
    let mut rule_count = 0;
    for rule in rules {
        rule_count += 1;
        let of_rule: Vec<&Violation> =
            violations.iter().filter(|violation| violation.rule == rule).collect();
        if !of_rule.is_empty() {
            write_group(&mut report, rule, &of_rule);
        }
    }
    let verdict = match violations.len() {
        0 => "no violations".to_owned(),
        1 => "1 violation".to_owned(),
        count => format!("{count} violations"),
    };
    write_line(&mut report, format_args!("tidy: {rule_count} rules, {files} files, {verdict}"));
    report
}

fn write_group(report: &mut String, rule: &str, violations: &[&Violation]) {
    write_line(report, format_args!("{rule}"));
    for (at, violation) in violations.iter().enumerate() {
        let place = match violation.line {
            Some(line) => format!("{}:{line}", violation.path),
            None => violation.path.clone(),
        };
        write_line(report, format_args!("  {place}: {}", violation.what));
        // The same advice for a run of violations is given once, at its end.
        if violations.get(at + 1).is_none_or(|next| next.fix != violation.fix) {
            write_line(report, format_args!("    → {}", violation.fix));
        }
    }
    report.push('\n');
}

fn write_line(report: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(report, "{line}").expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests;
