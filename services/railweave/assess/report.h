// The report of `railweave assess`, apart from how it is written: sections with facts, tables, pictures and advice.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/railweave/assess/advice.h"
#include "services/railweave/terminal/json.h"

namespace railweave::cli {

struct ReportTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
  std::size_t left_off = 0;  // rows that are not shown

  // The first `most` rows are shown.
  void add(std::vector<std::string> row, std::size_t most = 40) {
    if (rows.size() < most) {
      rows.push_back(std::move(row));
    } else {
      ++left_off;
    }
  }
};

struct ReportSection {
  std::string id, title, text{};
  std::vector<std::pair<std::string, std::string>> facts{};
  std::vector<std::string> pictures{};  // SVG
  std::vector<ReportTable> tables{};
  std::vector<Advice> advice{};
  Json data = Json::object();  // for -o json
};

struct Report {
  std::string title;
  ReportTable sources;
  std::vector<ReportSection> sections;
};

// All advice, the gravest first; the section's order within.
std::vector<const Advice*> all_advice(const Report& report);
Json to_json(const Report& report);
// One file without anything from elsewhere, light or dark as the reader's screen is, from 360 px on.
std::string to_html(const Report& report);

}  // namespace railweave::cli
