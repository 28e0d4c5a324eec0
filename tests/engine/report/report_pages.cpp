// Writes the three reports of an audit: report_pages AUDIT.json DIR. report_test.py starts it.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

#include "engine/report/html.h"
#include "engine/report/junit.h"
#include "engine/report/markdown.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: report_pages AUDIT.json DIR\n", stderr);
    return 64;
  }
  try {
    std::ifstream file(argv[1], std::ios::binary);
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    fairlane::Json const audit = fairlane::Json::parse(text);
    std::string const dir = argv[2];
    std::ofstream(dir + "/report.html", std::ios::binary) << fairlane::report_html(audit);
    std::ofstream(dir + "/report.md", std::ios::binary) << fairlane::report_markdown(audit);
    std::ofstream(dir + "/junit.xml", std::ios::binary) << fairlane::report_junit(audit);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "report_pages: %s\n", e.what());
    return 70;
  }
  return 0;
}
