#include "models/data/encoding.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/data/domain.h"

namespace fairlane {

std::string Encoding::text() const {
  switch (kind) {
    case EncodingKind::kAffine:
      return fmt::format("affine (mean {}, std {})", mean, std);
    case EncodingKind::kOneHot:
      return drop_first ? "one-hot but the first" : "one-hot";
    case EncodingKind::kTable:
      return fmt::format("table of {} x {}", rows.size(), rows.front().size());
    default:
      return "identity";
  }
}

int encoded_width(Attribute const& attribute) {
  Encoding const& encoding = attribute.encoding;
  switch (encoding.kind) {
    case EncodingKind::kOneHot:
      return static_cast<int>(attribute.code_count()) - (encoding.drop_first ? 1 : 0);
    case EncodingKind::kTable:
      return static_cast<int>(encoding.rows.front().size());
    default:
      return 1;
  }
}

EncodingView encoding_view(Attribute const& attribute, std::vector<float>& table) {
  Encoding const& encoding = attribute.encoding;
  EncodingView view;
  view.kind = encoding.kind;
  view.width = encoded_width(attribute);
  if (view.width < 1) {
    throw Error(ExitCode::kConfig,
                fmt::format("attribute {} has the single code {}, and its encoding drops it",
                            in_quotes(attribute.name), attribute.code_at(0)));
  }
  view.dropped = encoding.kind == EncodingKind::kOneHot && encoding.drop_first ? 1 : 0;
  table.clear();
  if (encoding.kind == EncodingKind::kAffine) {
    view.slope = 1.0 / encoding.std;
    std::int64_t const codes = attribute.code_count();
    if (codes > kMaxTableCodes) {
      throw Error(ExitCode::kConfig,
                  fmt::format("attribute {} has {} codes, at most {} can be encoded; narrow its "
                              "bounds",
                              in_quotes(attribute.name), codes, kMaxTableCodes));
    }
    for (std::int64_t i = 0; i < codes; ++i) {
      double const code = attribute.code_at(i);
      table.push_back(static_cast<float>((code - encoding.mean) / encoding.std));
      if (!std::isfinite(table.back())) {
        throw Error(ExitCode::kConfig,
                    fmt::format("attribute {}: code {} becomes {} in float32, expected a finite "
                                "number; correct mean and std",
                                in_quotes(attribute.name), attribute.code_at(i), table.back()));
      }
    }
  }
  for (auto const& row : encoding.rows) table.insert(table.end(), row.begin(), row.end());
  view.table = table;
  return view;
}

}  // namespace fairlane
