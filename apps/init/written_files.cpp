#include "apps/init/written_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "apps/files.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/config/config_reference.h"
#include "kernels/layout/plan.h"
#include "models/data/domain_yaml.h"

namespace fairlane {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kClusters = 4;

/// `text` with a comment at a fixed column.
std::string commented(std::string const& text, std::string const& comment) {
  constexpr std::size_t kColumn = 35;
  return fmt::format("{:<{}} # {}\n", text, kColumn - 1, comment);
}

/// A key with its default, and what it means.
std::string with_default(char const* key) {
  return commented(fmt::format("{}: {}", key, default_text(key)), key_comment(key));
}

bool encodes_as(Domain const& domain, EncodingKind kind) {
  return std::ranges::any_of(domain.attributes, [&](Attribute const& attribute) {
    return attribute.encoding.kind == kind;
  });
}

/// A name as a part of a file's name.
std::string file_part(std::string const& name) {
  std::string part;
  for (char const c : name) {
    bool const is_safe = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    part += is_safe ? c : '_';
  }
  return part;
}

/// Writes a file beside its name; messages tell the name that it will have.
void write_staged(std::string const& path, NewFile const& file) {
  try {
    write_text_file(path, file.text);
  } catch (Error const& error) {
    std::string const what = error.what();
    throw Error(error.code(), escaped(file.path, file.path.size()) +
                                  what.substr(escaped(path, path.size()).size()));
  }
}

}  // namespace

void NewFolders::create_for(std::string const& path) {
  std::vector<fs::path> missing;
  std::error_code ec;
  for (fs::path folder = fs::path(path).parent_path(); !folder.empty() && !fs::exists(folder, ec);
       folder = folder.parent_path())
    missing.push_back(folder);
  std::ranges::reverse(missing);
  for (fs::path const& folder : missing) {
    if (fs::create_directory(folder, ec)) created_.push_back(folder.string());
    if (!ec) continue;
    throw Error(ExitCode::kOutput, fmt::format("{}: its folder cannot be created: {}",
                                               escaped(path, path.size()), ec.message()));
  }
}

NewFolders::~NewFolders() {
  std::error_code ec;
  for (auto folder = created_.rbegin(); folder != created_.rend(); ++folder)
    fs::remove(*folder, ec);
}

void write_files(std::vector<NewFile> const& files) {
  std::vector<std::string> staged;
  std::error_code ec;
  try {
    for (NewFile const& file : files) {
      refuse_no_file(file.path);
      staged.push_back(fmt::format("{}.{}.new", file.path, getpid()));
      write_staged(staged.back(), file);
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      fs::rename(staged[i], files[i].path, ec);
      if (!ec) continue;
      throw Error(ExitCode::kOutput,
                  fmt::format("{}: cannot be put into place: {}",
                              escaped(files[i].path, files[i].path.size()), ec.message()));
    }
  } catch (...) {
    for (std::string const& path : staged) fs::remove(path, ec);
    throw;
  }
}

std::string yaml_list(std::vector<std::string> const& names) {
  std::string text;
  for (std::string const& name : names) text += (text.empty() ? "" : ", ") + yaml_text(name);
  return text;
}

std::vector<InitConfig> init_configs(std::string const& path, ProtectedColumns const& columns,
                                     Domain const& domain) {
  std::vector<InitConfig> configs = {{path, columns.tested}};
  if (columns.names.size() < 2) return configs;
  fs::path const whole(path);
  std::vector<std::string> parts = {"domain"};  // the domain file's
  for (std::string const& name : columns.names) {
    Attribute const& attribute = domain.attributes[static_cast<std::size_t>(domain.find(name))];
    std::int64_t const values = attribute.code_count();
    bool const is_joint = columns.tested.size() == 1 && columns.tested[0] == name;
    if (values < 2 || values > kMaxVariants || is_joint) continue;
    std::string part = file_part(name);
    while (std::ranges::count(parts, part) > 0) part += "_";
    parts.push_back(part);
    fs::path own = whole;
    own.replace_filename(whole.stem().string() + "." + part + whole.extension().string());
    configs.push_back({own.string(), {name}});
  }
  return configs;
}

std::string domain_text(DrawnDomain const& drawn, Domain const& domain,
                        ProtectedColumns const& columns, InitPaths const& paths) {
  std::string text = fmt::format(
      "# The inputs of {} in its order, drawn by `fairlane init` from {}.\n"
      "# low and high are the least and greatest codes of the table: widen them where people can "
      "lie outside.\n",
      escaped(fs::path(paths.model).filename().string()),
      escaped(fs::path(paths.data).filename().string()));
  text += columns.guessed
              ? "# protected was guessed from the names: correct it, one `protected: true` each.\n"
              : "# protected is what the command line named, one `protected: true` each.\n";
  if (!drawn.has_label) text += "# The table has no label column; `label: NAME` would name it.\n";
  if (!domain.labels.empty()) {
    text +=
        "# labels says which class of the model a cell of the label column stands for, in the "
        "order of scikit-learn: swap\n# them where the model was trained with another.\n";
  }
  if (!drawn.encoded.empty()) {
    text += drawn.named
                ? "# categories name the codes low, low + 1, ..., in the order of the model's "
                  "inputs where it names them.\n"
                : "# categories name the codes low, low + 1, ... They are in alphabetical order: "
                  "put them in the order that the\n# network was trained with.\n";
  }
  if (domain.encodes() && !drawn.named) {
    text +=
        "# The network's inputs are those of these lines, one after the other: move the lines "
        "where "
        "its order differs.\n";
  }
  if (drawn.text_inputs != TextInputs::kCodes) {
    text +=
        "# one-hot is an input per category, {drop: first} without the first one's; pandas and "
        "scikit-learn often put columns\n# of text behind the others.\n";
  }
  if (encodes_as(domain, EncodingKind::kAffine)) {
    text +=
        "# affine is (code - mean) / std, here of the whole table (of its least and greatest code "
        "where numbers enter as\n# 0..1): put in those of the rows that the model was trained "
        "on.\n";
  }
  if (!drawn.sparse.empty()) {
    text +=
        "# These attributes have only these codes in the table. Where others cannot occur, write "
        "`values: [...]` instead of low\n# and high:\n";
    for (std::string const& codes : drawn.sparse) text += "#   " + codes + "\n";
  }
  return text + format_domain_yaml(domain);
}

std::string config_text(InitConfig const& config, ProtectedColumns const& columns,
                        InitPaths const& paths, Model const& model, std::int64_t rows) {
  std::string const base = fs::path(config.path).parent_path().string();
  std::string const stem = fs::path(config.path).stem().string();
  std::string text =
      "# Written by `fairlane init`; `fairlane run` with this file starts the search. Paths are "
      "relative to this file.\n";
  bool const is_file = !is_command(paths.model);
  text += "model: " + yaml_text(is_file ? relative_path(paths.model, base) : paths.model) + "\n";
  text += "data: " + yaml_text(relative_path(paths.data, base)) + "\n";
  text += commented("domain: " + yaml_text(relative_path(paths.domain, base)),
                    key_comment("domain") + "; check it");
  text +=
      commented(fmt::format("protected: [{}]", yaml_list(config.tested)), key_comment("protected"));
  if (config.tested == columns.tested && config.tested.size() < columns.names.size()) {
    text += fmt::format("# also flagged: {}; together they make many combinations\n",
                        yaml_list(columns.names));
  }
  text += with_default("out_of_domain");
  if (model.outputs() == 1) text += with_default("threshold");
  text += commented("method: margin", key_comment("method"));
  text += with_default("seed");
  text += commented(
      fmt::format("global: {{num: {}, clusters: {}, max_iter: {}}}", default_text("global.num"),
                  std::min(kClusters, rows), default_text("global.max_iter")),
      "num: " + key_comment("global.num"));
  text += commented(fmt::format("local: {{num: {}}}", default_text("local.num")),
                    "num: " + key_comment("local.num"));
  text += commented(fmt::format("budget: {{seconds: {}}}", default_text("budget.seconds")),
                    "seconds: " + key_comment("budget.seconds"));
  text += commented(fmt::format("output: {{dir: {}, format: {}}}", yaml_text("results/" + stem),
                                default_text("output.format")),
                    "format: " + key_comment("output.format"));
  return text;
}

}  // namespace fairlane
