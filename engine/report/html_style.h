// How the HTML page looks.
#pragma once

namespace fairlane::report {

/// The page's CSS: one accent, light and dark, narrow screens, print.
char const* page_style();

}  // namespace fairlane::report
