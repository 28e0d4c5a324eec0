// The texts of the files that `fairlane init` writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/init/draw_domain.h"
#include "apps/init/protected_columns.h"

namespace fairlane {

/// Where things are, as the command line names them.
struct InitPaths {
  std::string model;
  std::string data;
  std::string domain;
};

/// A configuration to write, and the attributes that it tests together.
struct InitConfig {
  std::string path;
  std::vector<std::string> tested;
};

/// A file that is to be written.
struct NewFile {
  std::string path;
  std::string text;
};

/// The folders of files, which are created where there are none, and removed again unless kept.
class NewFolders {
 public:
  /// Throws Error(kOutput).
  void create_for(std::string const& path);
  void keep() { created_.clear(); }
  NewFolders() = default;
  ~NewFolders();
  NewFolders(NewFolders const&) = delete;
  NewFolders& operator=(NewFolders const&) = delete;

 private:
  std::vector<std::string> created_;  // the outermost first
};

/// Writes all of the files: to neighbours first, so that one that cannot be written leaves all
/// those that are there as they are. Throws Error(kOutput | kDisk).
void write_files(std::vector<NewFile> const& files);

/// One configuration for the attributes that are tested together and, where several are protected,
/// one for each: data.yaml, data.age.yaml, data.sex.yaml. Attributes with too many or too few
/// values to compare have none of their own.
std::vector<InitConfig> init_configs(std::string const& path, ProtectedColumns const& columns,
                                     Domain const& domain);

/// The domain file, with comments on what to change.
std::string domain_text(DrawnDomain const& drawn, Domain const& domain,
                        ProtectedColumns const& columns, InitPaths const& paths);

/// A configuration that can be run at once, with comments on what to change.
/// rows: of the table
std::string config_text(InitConfig const& config, ProtectedColumns const& columns,
                        InitPaths const& paths, Model const& model, std::int64_t rows);

/// "age, job": names as YAML spells them.
std::string yaml_list(std::vector<std::string> const& names);

}  // namespace fairlane
