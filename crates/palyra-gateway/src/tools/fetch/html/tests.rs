use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(html: &str, expected: &str) {
    assert_eq!(text(html, 1 << 20), expected, "{html}");
}

#[test]
fn elements_become_lines_and_marks() {
    check(
        "<h1>A</h1><p>b\n  c</p><ul><li>d<li>e</ul>f<br>g<table><tr><td>1<td>2</table>",
        "# A\n\nb c\n\n- d\n- e\n\nf\ng\n\n1 2",
    );
    check("<pre>a\n  b</pre>c   d", "a\n  b\n\nc d");
    check("a<b>b</b>c <i> d</i>", "abc d");
}

#[test]
fn what_nobody_reads_is_left_out() {
    check("a<script>if (1 < 2) { '</p>' }</script>b<STYLE>p {}</Style>c", "abc");
    check("a<!-- <p>x</p> -->b<!DOCTYPE html>c<?xml x?>d", "abcd");
    check("a<script src=x />b", "ab");
    check("a<script>never ends <p>b", "a");
    check("a<noscript><img src=x></noscript><svg><text>x</text></svg>b", "ab");
}

#[test]
fn links_and_images_are_told() {
    check("<a href=\"https://x.example/?a=1&amp;b=2\">x</a>", "x (https://x.example/?a=1&b=2)");
    check(
        "<a class=y href=/z>x</a> <a href='#top'>t</a> <a href=javascript:x()>j</a>",
        "x (/z) t j",
    );
    check("<img alt='a cat' src=x><img src=y>", "[image: a cat]");
    check("<a title='a > b' href='c'>x</a>", "x (c)");
    check("x</a>y", "xy");
}

#[test]
fn characters_are_decoded_once() {
    check("&lt;b&gt; &amp;lt; &#65;&#x42; &nbsp;x &unknown; &#0; &#x110000; & &;", {
        "<b> &lt; AB x &unknown; &#0; &#x110000; & &;"
    });
}

#[test]
fn what_is_no_tag_is_text() {
    check("1 < 2 <3 <", "1 < 2 <3 <");
    check("a <b", "a");
    check("<p title=\"never ends>x", "");
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(html in "(<|>|/|a|p|script|pre|!|-|\"|'|=|&|;|#|x|ż| |\n|href|li|h1){0,80}") {
        text(&html, 1 << 20);
    }

    #[test]
    fn nor_any_text(html in ".{0,200}") {
        text(&html, 50);
    }
}

#[test]
fn a_large_page_takes_as_long_as_it_is() {
    // Quadratic work on any of these would be minutes.
    for piece in ["<", "<a ", "<!--", "</", "<script>", "&", "<p a='", "<pre>", "</scrip", "&#"] {
        text(&piece.repeat(300_000), 1 << 20);
    }
}
