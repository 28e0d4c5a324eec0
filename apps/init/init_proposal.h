// The files that `fairlane init` proposes for a model and the table behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/init/draw_domain.h"
#include "apps/init/input_trials.h"
#include "apps/init/protected_columns.h"
#include "apps/init/written_files.h"
#include "engine/subject/row_labels.h"

namespace fairlane {

/// What files are proposed for.
/// out              the configuration that is to be written
/// drawing          what the command line says of the table
/// protected_names  empty: recognised by name
/// constraints      propose those that hold in the table
struct InitRequest {
  InitPaths paths;
  std::string out;
  DrawOptions drawing;
  std::vector<std::string> protected_names;
  ModelOptions loading;
  bool constraints = false;
};

/// Something that a person should know of the proposal.
struct InitNote {
  std::string text;
  bool is_warning = false;
};

/// Files that were read as `run` reads them, and how they came about.
/// trials   where several ways were tried
/// inputs   of the model
/// rows     of the table
/// configs  for all that are tested together first
/// files    the domain file, then the configurations
/// agreed   none: the table has no labels
struct InitProposal {
  DrawnDomain drawn;
  InputWay way;
  std::optional<InputTrials> trials;
  ProtectedColumns columns;
  int inputs = 0;
  std::int64_t rows = 0;
  std::vector<InitConfig> configs;
  std::vector<NewFile> files;
  std::optional<LabelAgreement> agreed;
  std::vector<InitNote> notes;
};

/// Writes nothing. Throws Error where model and table do not fit, or names are unknown.
InitProposal propose_files(InitRequest const& request);

}  // namespace fairlane
