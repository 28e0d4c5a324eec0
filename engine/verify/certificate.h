// certificate.txt: what a verification says of every cell, and the proofs of the fair ones.
//
// Lines: "fairlane certificate 1"; "manifest" and the SHA-256 of manifest.json, which names the
// inputs and the query; "files" and a JSON object of the SHA-256 of the results beside it; "axes"
// and a JSON array of the attributes of every axis; "cells" and their number; for every cell
// "unfair", "unknown", or "fair" and the trees of its boxes (engine/verify/boxes/proof_tree.h);
// "sha256" and that of all lines before.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlane {

/// What is said of a cell. proof: of a fair one
struct CertifiedCell {
  enum class Verdict : std::uint8_t { kFair, kUnfair, kUnknown };
  Verdict verdict = Verdict::kUnknown;
  std::string_view proof;
};

/// What cells.csv calls it: "unsat", "sat" or "unknown".
char const* verdict_word(CertifiedCell::Verdict verdict);

/// manifest_digest  SHA-256 of manifest.json
/// files            names of results and their result_digest()
/// axes             attributes of each
struct CertificateHead {
  std::string manifest_digest;
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::vector<std::string>> axes;
  std::int64_t cells = 0;
};

/// SHA-256 of a result with this name and text; of summary.json without its times, which differ
/// between equal runs. Throws JsonError for a summary that is none.
std::string result_digest(std::string_view name, std::string const& text);

/// cell(i): what is said of cell i
std::string certificate_text(CertificateHead const& head,
                             std::function<CertifiedCell(std::int64_t)> const& cell);

/// A certificate that was read. Its text outlives the cells.
struct Certificate {
  std::string text;
  CertificateHead head;
  std::vector<CertifiedCell> cells;
};

/// Throws Error(kNoInput), and Error(kIntegrity) with path and line where the file is damaged.
Certificate read_certificate(std::string const& path);

}  // namespace fairlane
