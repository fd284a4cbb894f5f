//! The themes that come with the program, as their files say them. Knows names and texts; what they mean is read elsewhere.

/// Name and text of every theme, in the order in which they are listed.
pub(super) const BUILT_IN: [(&str, &str); 16] = [
    ("terminal", include_str!("../../../themes/terminal.toml")),
    ("mono", include_str!("../../../themes/mono.toml")),
    ("high-contrast", include_str!("../../../themes/high-contrast.toml")),
    ("okabe-ito", include_str!("../../../themes/okabe-ito.toml")),
    ("catppuccin-mocha", include_str!("../../../themes/catppuccin-mocha.toml")),
    ("catppuccin-latte", include_str!("../../../themes/catppuccin-latte.toml")),
    ("gruvbox-dark", include_str!("../../../themes/gruvbox-dark.toml")),
    ("gruvbox-light", include_str!("../../../themes/gruvbox-light.toml")),
    ("nord", include_str!("../../../themes/nord.toml")),
    ("dracula", include_str!("../../../themes/dracula.toml")),
    ("tokyonight", include_str!("../../../themes/tokyonight.toml")),
    ("rose-pine", include_str!("../../../themes/rose-pine.toml")),
    ("rose-pine-dawn", include_str!("../../../themes/rose-pine-dawn.toml")),
    ("solarized-dark", include_str!("../../../themes/solarized-dark.toml")),
    ("solarized-light", include_str!("../../../themes/solarized-light.toml")),
    ("onedark", include_str!("../../../themes/onedark.toml")),
];
