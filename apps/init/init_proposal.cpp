#include "apps/init/init_proposal.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>

#include "apps/init/propose_constraints.h"
#include "base/error.h"
#include "base/number_text.h"
#include "base/text.h"
#include "engine/config/config_yaml.h"
#include "engine/subject/subject.h"
#include "models/data/csv.h"
#include "models/data/domain_yaml.h"

namespace fairlane {
namespace {

/// "84.9 % text one-hot behind the numbers; 76.1 % ...": the ways that were tried, best first.
std::string trials_text(DrawnDomain const& drawn, InputTrials const& trials) {
  constexpr std::size_t kShown = 3;
  std::vector<std::size_t> order(drawn.ways.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t way) { return trials.agreement[way]; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, order.size()); ++i) {
    text += fmt::format("{}{} with {}", i == 0 ? "" : "; ", percent(trials.agreement[order[i]]),
                        drawn.ways[order[i]].text);
  }
  return text + (order.size() > kShown ? "; ..." : "");
}

void tell(InitProposal& proposal, std::string text) {
  proposal.notes.push_back({std::move(text), false});
}

void warn(InitProposal& proposal, std::string text) {
  proposal.notes.push_back({std::move(text), true});
}

/// What is to be told of the inputs.
void note_inputs(Model const& model, InitProposal& proposal) {
  DrawnDomain const& drawn = proposal.drawn;
  if (!drawn.has_label && drawn.other_label.empty()) {
    tell(
        proposal,
        fmt::format("no column is left for labels: all {} are attributes; whether the model agrees "
                    "with the table is not known",
                    proposal.way.domain.size()));
  }
  if (!drawn.unnamed.empty()) {
    warn(proposal,
         fmt::format("the model names its inputs, but {}; the names were not used", drawn.unnamed));
  }
  if (!drawn.left_out.empty()) {
    tell(proposal, fmt::format("columns that the model does not name are left out: {}",
                               yaml_list(drawn.left_out)));
  }
  if (!drawn.other_label.empty()) {
    warn(proposal,
         fmt::format("all columns are taken as attributes; with --label {} the columns of text, "
                     "one-hot, give as many inputs",
                     yaml_text(drawn.other_label)));
  }
  if (proposal.trials) {
    tell(proposal, fmt::format("{} ways of giving the table to the model were tried on {} rows; "
                               "they agree with its labels in {}",
                               drawn.ways.size(), with_commas(proposal.trials->rows),
                               trials_text(drawn, *proposal.trials)));
  }
  if (drawn.text_inputs == TextInputs::kCodes) {
    if (!drawn.encoded.empty() && !drawn.named) {
      warn(proposal,
           fmt::format("columns of text ({}) were given codes in alphabetical order; the model "
                       "must have been trained with the same{}",
                       yaml_list(drawn.encoded),
                       is_command(model.source()) ? ", or turn them into words itself "
                                                    "(fairlane_adapter.py --domain FILE)"
                                                  : ""));
    }
  } else if (!proposal.trials) {
    warn(proposal,
         fmt::format("columns of text ({}) are one-hot, which gives the model's {} inputs, "
                     "and nothing tells their order and scale, which are taken as: {}; "
                     "correct the domain file where the model differs (--standardise: "
                     "numbers by the table's mean and std)",
                     yaml_list(drawn.encoded), model.inputs(), proposal.way.text));
  }
}

/// What is to be written must run: it is read as `run` does, before it replaces anything.
std::optional<LabelAgreement> try_files(InitRequest const& request, std::string const& config,
                                        std::string const& domain) {
  std::string const base = std::filesystem::path(request.out).parent_path().string();
  TestSubject const subject(parse_run_config(config, request.out, base, {}), request.loading,
                            parse_domain_yaml(domain, request.paths.domain));
  Execution execution;
  execution.backend = "cpu";  // a few rows do not pay for waking a GPU
  auto const backend = make_backend(subject, execution, 0, VisitSink());
  return label_agreement(subject, *backend);
}

void note_agreement(InitProposal& proposal) {
  auto const& agreed = proposal.agreed;
  if (!agreed || agreed->share() >= agreed->majority_share()) return;
  std::string const swapped =
      proposal.way.domain.labels.empty() ? "" : ", or `labels` in the domain file are swapped";
  warn(proposal,
       fmt::format("the model gives the table's label for {} of the rows, less than the {} of "
                   "always answering its most frequent one; the columns are probably ordered or "
                   "encoded otherwise than in its training{}",
                   percent(agreed->share()), percent(agreed->majority_share()), swapped));
}

}  // namespace

InitProposal propose_files(InitRequest const& request) {
  InitPaths const& paths = request.paths;
  Table const table = describe_csv(paths.data);
  // All kept columns but the label's; draw_domain compares.
  auto const inputs = static_cast<int>(kept_columns(table, request.drawing.drop).size()) - 1;
  Model const model = load_model(paths.model, inputs, request.loading);
  InitProposal proposal;
  proposal.drawn = draw_domain(table, model, request.drawing);
  proposal.way = proposal.drawn.ways.front();
  proposal.inputs = model.inputs();
  proposal.rows = table.count;
  if (proposal.drawn.has_label && proposal.drawn.ways.size() > 1) {
    proposal.trials =
        try_ways(model, read_csv(paths.data, proposal.way.domain), proposal.drawn.ways);
    proposal.way = proposal.drawn.ways[proposal.trials->best];
  }
  Domain& domain = proposal.way.domain;
  proposal.columns = flag_protected(table.source, request.protected_names, domain);
  proposal.configs = init_configs(request.out, proposal.columns, domain);
  std::string constraints;
  if (request.constraints) {
    auto const proposed = propose_constraints(domain, read_csv(paths.data, domain));
    constraints = proposed_constraints_text(proposed, domain);
    tell(proposal, proposed_constraints_note(proposed));
  }
  proposal.files = {
      {paths.domain, domain_text(proposal.drawn, domain, proposal.columns, paths) + constraints}};
  for (InitConfig const& config : proposal.configs) {
    proposal.files.push_back(
        {config.path, config_text(config, proposal.columns, paths, model, table.count)});
  }
  try {
    proposal.agreed = try_files(request, proposal.files[1].text, proposal.files[0].text);
  } catch (Error const& error) {
    if (proposal.drawn.guessed_label.empty()) throw;
    throw Error(error.code(), fmt::format("{}; {}", error.what(), proposal.drawn.guessed_label));
  }
  if (proposal.columns.guessed) {
    tell(proposal,
         fmt::format("protected attributes were guessed from their names: {}; --protected a,b "
                     "names others",
                     yaml_list(proposal.columns.names)));
  }
  note_inputs(model, proposal);
  note_agreement(proposal);
  return proposal;
}

}  // namespace fairlane
