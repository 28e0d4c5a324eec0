// A small table whose labels follow a rule, and what names it.
#pragma once

#include <string>

#include "engine/config/config_yaml.h"
#include "tests/models/temporary.h"

namespace fairlane {

/// 600 rows of skill 0..9, group 0..2 and side 0..1 (one-hot); label: skill + 2 side > 5, which is
/// unfair by side. Written into a folder that lives as long as this.
class SmallTable {
 public:
  /// constraints: the section of the domain file
  explicit SmallTable(std::string const& constraints = "") {
    std::string text = "skill,group,side,hired\n";
    for (int i = 0; i < 600; ++i) {
      int const skill = i % 10;
      int const side = i / 30 % 2;
      text += std::to_string(skill) + "," + std::to_string(i / 10 % 3) + "," +
              std::to_string(side) + "," + (skill + 2 * side > 5 ? "1" : "0") + "\n";
    }
    folder_.write("table.csv", text);
    folder_.write("domain.yaml",
                  "name: small\nlabel: hired\nattributes:\n"
                  "  - {name: skill, low: 0, high: 9}\n"
                  "  - {name: group, values: [0, 1, 2], protected: true}\n"
                  "  - {name: side, low: 0, high: 1, protected: true, encoding: one-hot}\n" +
                      constraints);
  }

  std::string file(std::string const& name) const { return folder_.file(name); }
  void write(std::string const& name, std::string const& text) const { folder_.write(name, text); }
  /// A configuration with further lines.
  RunConfig config(std::string const& more = "",
                   std::string const& protected_names = "side") const {
    std::string const text = "data: table.csv\ndomain: domain.yaml\nprotected: [" +
                             protected_names + "]\noutput: {dir: out}\n" + more;
    return parse_run_config(text, "config.yaml", folder_.file(""), {}, ModelUse::kMade);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace fairlane
