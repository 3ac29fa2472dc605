//! The basic catalogue: its components, its functions, and the theme of a surface.

use super::shape::Gives::{Any, Flag, Number, Text, Texts};
use super::shape::Shape::{
    Call, Children, Color, Count, Dynamic, Either, Icon, Id, List, Map, Moment, Object, Open, Uri,
    Word,
};
use super::shape::{Field, Shape, may, must};

/// A component.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// What it has besides what all have.
    pub(super) fields: &'static [Field],
    /// Whether it can have checks.
    pub(super) has_checks: bool,
}

/// A function that a client knows.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    pub(super) returns: &'static str,
    pub(super) args: &'static [Field],
    /// Of these one has to be there.
    pub(super) one_of: &'static [&'static str],
}

/// What every component has.
pub(super) const COMMON: &[Field] = &[
    must("id", Id),
    must("component", Shape::Text),
    may("accessibility", Open(&[may("label", Dynamic(Text)), may("description", Dynamic(Text))])),
    may("weight", Shape::Number),
];

/// What those have whose input is checked.
pub(super) const CHECKS: Field = may("checks", List { of: &CHECK, least: 0 });

/// What a surface looks like.
pub(super) const THEME: Shape =
    Open(&[may("primaryColor", Color), may("iconUrl", Uri), may("agentDisplayName", Shape::Text)]);

const CHECK: Shape = Object(&[must("condition", Dynamic(Flag)), must("message", Shape::Text)]);

const EVENT: &[Field] = &[must("name", Shape::Text), may("context", Map(&Dynamic(Any)))];

const ACTION: &[Field] = &[must("event", Object(EVENT)), must("functionCall", Call)];

const TAB: Shape = Object(&[must("title", Dynamic(Text)), must("child", Id)]);

const OPTION: Shape = Object(&[must("label", Dynamic(Text)), must("value", Shape::Text)]);

const JUSTIFY: Shape =
    Word(&["start", "center", "end", "spaceBetween", "spaceAround", "spaceEvenly", "stretch"]);

const ALIGN: Shape = Word(&["start", "center", "end", "stretch"]);

const fn kind(name: &'static str, fields: &'static [Field]) -> Kind {
    Kind { name, fields, has_checks: false }
}

const fn checked(name: &'static str, fields: &'static [Field]) -> Kind {
    Kind { has_checks: true, ..kind(name, fields) }
}

const LAYOUT: &[Field] =
    &[must("children", Children), may("justify", JUSTIFY), may("align", ALIGN)];

/// Every component.
pub(super) const COMPONENTS: &[Kind] = &[
    kind(
        "Text",
        &[
            must("text", Dynamic(Text)),
            may("variant", Word(&["h1", "h2", "h3", "h4", "h5", "caption", "body"])),
        ],
    ),
    kind(
        "Image",
        &[
            must("url", Dynamic(Text)),
            may("description", Dynamic(Text)),
            may("fit", Word(&["contain", "cover", "fill", "none", "scaleDown"])),
            may("variant", Word(IMAGES)),
        ],
    ),
    kind("Icon", &[must("name", Icon(ICONS))]),
    kind("Video", &[must("url", Dynamic(Text))]),
    kind("AudioPlayer", &[must("url", Dynamic(Text)), may("description", Dynamic(Text))]),
    kind("Row", LAYOUT),
    kind("Column", LAYOUT),
    kind(
        "List",
        &[
            must("children", Children),
            may("direction", Word(&["vertical", "horizontal"])),
            may("align", ALIGN),
        ],
    ),
    kind("Card", &[must("child", Id)]),
    kind("Tabs", &[must("tabs", List { of: &TAB, least: 1 })]),
    kind("Modal", &[must("trigger", Id), must("content", Id)]),
    kind("Divider", &[may("axis", Word(&["horizontal", "vertical"]))]),
    checked(
        "Button",
        &[
            must("child", Id),
            must("action", Either(ACTION)),
            may("variant", Word(&["default", "primary", "borderless"])),
        ],
    ),
    checked(
        "TextField",
        &[
            must("label", Dynamic(Text)),
            may("value", Dynamic(Text)),
            may("variant", Word(&["longText", "number", "shortText", "obscured"])),
            may("validationRegexp", Shape::Text),
        ],
    ),
    checked("CheckBox", &[must("label", Dynamic(Text)), must("value", Dynamic(Flag))]),
    checked(
        "ChoicePicker",
        &[
            must("options", List { of: &OPTION, least: 0 }),
            must("value", Dynamic(Texts)),
            may("label", Dynamic(Text)),
            may("variant", Word(&["multipleSelection", "mutuallyExclusive"])),
            may("displayStyle", Word(&["checkbox", "chips"])),
            may("filterable", Shape::Flag),
        ],
    ),
    checked(
        "Slider",
        &[
            must("value", Dynamic(Number)),
            must("max", Shape::Number),
            may("min", Shape::Number),
            may("label", Dynamic(Text)),
        ],
    ),
    checked(
        "DateTimeInput",
        &[
            must("value", Dynamic(Text)),
            may("enableDate", Shape::Flag),
            may("enableTime", Shape::Flag),
            may("min", Moment),
            may("max", Moment),
            may("label", Dynamic(Text)),
        ],
    ),
];

const fn function(name: &'static str, returns: &'static str, args: &'static [Field]) -> Function {
    Function { name, returns, args, one_of: &[] }
}

/// Every function.
pub(super) const FUNCTIONS: &[Function] = &[
    function("required", "boolean", &[must("value", Shape::Anything)]),
    function("regex", "boolean", &[must("value", Dynamic(Text)), must("pattern", Shape::Text)]),
    Function {
        one_of: &["min", "max"],
        ..function(
            "length",
            "boolean",
            &[must("value", Dynamic(Text)), may("min", Count), may("max", Count)],
        )
    },
    Function {
        one_of: &["min", "max"],
        ..function(
            "numeric",
            "boolean",
            &[must("value", Dynamic(Number)), may("min", Shape::Number), may("max", Shape::Number)],
        )
    },
    function("email", "boolean", &[must("value", Dynamic(Text))]),
    function("formatString", "string", &[must("value", Dynamic(Text))]),
    function(
        "formatNumber",
        "string",
        &[
            must("value", Dynamic(Number)),
            may("decimals", Dynamic(Number)),
            may("grouping", Dynamic(Flag)),
        ],
    ),
    function(
        "formatCurrency",
        "string",
        &[
            must("value", Dynamic(Number)),
            must("currency", Dynamic(Text)),
            may("decimals", Dynamic(Number)),
            may("grouping", Dynamic(Flag)),
        ],
    ),
    function("formatDate", "string", &[must("value", Dynamic(Any)), must("format", Dynamic(Text))]),
    function(
        "pluralize",
        "string",
        &[
            must("value", Dynamic(Number)),
            must("other", Dynamic(Text)),
            may("zero", Dynamic(Text)),
            may("one", Dynamic(Text)),
            may("two", Dynamic(Text)),
            may("few", Dynamic(Text)),
            may("many", Dynamic(Text)),
        ],
    ),
    function("openUrl", "void", &[must("url", Uri)]),
    function("and", "boolean", &[must("values", List { of: &Dynamic(Flag), least: 2 })]),
    function("or", "boolean", &[must("values", List { of: &Dynamic(Flag), least: 2 })]),
    function("not", "boolean", &[must("value", Dynamic(Flag))]),
];

const IMAGES: &[&str] =
    &["icon", "avatar", "smallFeature", "mediumFeature", "largeFeature", "header"];

const ICONS: &[&str] = &[
    "accountCircle",
    "add",
    "arrowBack",
    "arrowForward",
    "attachFile",
    "calendarToday",
    "call",
    "camera",
    "check",
    "close",
    "delete",
    "download",
    "edit",
    "event",
    "error",
    "fastForward",
    "favorite",
    "favoriteOff",
    "folder",
    "help",
    "home",
    "info",
    "locationOn",
    "lock",
    "lockOpen",
    "mail",
    "menu",
    "moreVert",
    "moreHoriz",
    "notificationsOff",
    "notifications",
    "pause",
    "payment",
    "person",
    "phone",
    "photo",
    "play",
    "print",
    "refresh",
    "rewind",
    "search",
    "send",
    "settings",
    "share",
    "shoppingCart",
    "skipNext",
    "skipPrevious",
    "star",
    "starHalf",
    "starOff",
    "stop",
    "upload",
    "visibility",
    "visibilityOff",
    "volumeDown",
    "volumeMute",
    "volumeOff",
    "volumeUp",
    "warning",
];

/// The component of that name.
pub(super) fn component(name: &str) -> Option<&'static Kind> {
    COMPONENTS.iter().find(|kind| kind.name == name)
}

/// The function of that name.
pub(super) fn function_named(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}
