#include "fabric/formats/gpu/clique_rows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/lower_case.h"
#include "fabric/base/whole_number.h"
#include "fabric/formats/text/json_reader.h"
#include "fabric/formats/text/name_text.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

constexpr std::string_view kExpectedUuid = "a clusterUuid such as 61248eac-4785-4fbf-9cbd-231635e37e9d";
constexpr std::string_view kExpectedClique = "a cliqueId from 0 to 4294967294";

// In lower case; nothing where it is no UUID.
std::optional<std::string> parse_uuid(std::string_view text) {
  static constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  const auto fits = [](char shape, char c) {
    return shape == '-' ? c == '-' : std::string_view("0123456789abcdef").find(c) != std::string_view::npos;
  };
  std::string uuid = lower_case(text);
  if (!std::ranges::equal(kShape, uuid, fits)) return std::nullopt;
  return uuid;
}

std::optional<std::uint32_t> parse_clique(std::string_view text) {
  const auto clique = whole_number<std::uint32_t>(text);
  return clique == TopologyBuilder::kNoClique ? std::nullopt : clique;
}

bool is_not_available(std::string_view text) {
  const std::string word = lower_case(text);
  return word == "n/a" || word == "na" || word == "[n/a]" || word == "none" || word == "-" || word.empty();
}

// What is to be one row, as texts.
struct RowFields {
  std::string node, cluster_uuid, clique, platform;
};

class CliqueRowsReader {
 public:
  CliqueRowsReader(const ReadOptions& options, TopologyBuilder& builder)
      : options_(options), builder_(builder), unreadable_(options, builder) {}

  Result<std::vector<CliqueRow>> read(std::string_view text) {
    const auto outcome = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size())).starts_with('{')
                             ? read_json(text)
                             : read_table(text);
    if (!outcome) return std::unexpected(outcome.error());
    if (!not_available_.empty()) {
      builder_.add_finding({"cliqueNotAvailable", Severity::warning,
                            "nodes whose clusterUuid or cliqueId is not available (N/A); their rows are left out",
                            std::move(not_available_)});
    }
    if (rows_.empty()) {
      return fail(ErrorKind::invalid, "nvlinkCliques.empty", "no row with a node, a clusterUuid and a cliqueId",
                  location_text(options_.source, 1, 1), "are the GPUs' NVLink domains set up (nvidia-smi -q, Fabric)?");
    }
    return std::move(rows_);
  }

 private:
  // --- table
  enum Column : std::size_t { kNode, kClusterUuid, kClique, kPlatform, kColumns };

  struct Cell {
    std::string_view text;
    std::size_t column = 1;
  };

  static std::vector<Cell> cells_of(std::string_view line) {
    std::vector<Cell> cells;
    const bool commas = line.find(',') != std::string_view::npos;
    LineCursor cursor(line);
    while (!cursor.at_end() && cells.size() <= 16) {
      cursor.skip_blanks();
      const std::size_t column = cursor.column();
      std::string_view text;
      if (commas) {
        text = cursor.rest().substr(0, cursor.rest().find(','));
        cursor.advance(text.size() + 1);
        while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
      } else {
        text = cursor.take_word();
      }
      if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
      if (commas || !text.empty()) cells.push_back({text, column});
    }
    return cells;
  }

  // "clusterUuid", "cluster_uuid", "CLUSTER-UUID" are one title.
  static std::optional<Column> parse_title(std::string_view text) {
    std::string word = lower_case(text);
    std::erase_if(word, [](char c) { return c == '_' || c == '-' || c == ' '; });
    static constexpr std::array<std::pair<std::string_view, Column>, 10> kTitles{{{"node", kNode},
                                                                                  {"name", kNode},
                                                                                  {"host", kNode},
                                                                                  {"hostname", kNode},
                                                                                  {"clusteruuid", kClusterUuid},
                                                                                  {"cliqueid", kClique},
                                                                                  {"clique", kClique},
                                                                                  {"platform", kPlatform},
                                                                                  {"instance", kPlatform},
                                                                                  {"product", kPlatform}}};
    for (const auto& [title, column] : kTitles) {
      if (word == title) return column;
    }
    return std::nullopt;
  }

  Result<void> read_table(std::string_view text) {
    static constexpr std::size_t kAbsent = SIZE_MAX;
    std::array<std::size_t, kColumns> position{0, 1, 2, 3};
    bool first = true;
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
      const auto begin = line.find_first_not_of(" \t");
      if (begin == std::string_view::npos || line[begin] == '#') continue;
      if (line.size() > kMaxLineBytes) {
        unreadable_.add(lines.number(), kMaxLineBytes, fmt::format("a line of at most {} bytes", kMaxLineBytes));
        continue;
      }
      const auto cells = cells_of(line);
      if (std::exchange(first, false) && is_title_line(cells)) {
        position.fill(kAbsent);
        for (std::size_t i = 0; i < cells.size(); ++i) {
          if (const auto column = parse_title(cells[i].text)) position[*column] = i;
        }
        continue;
      }
      const auto cell = [&](Column column) {
        return position[column] < cells.size() ? cells[position[column]] : Cell{{}, line.size() + 1};
      };
      read_row(lines.number(), cell(kNode), cell(kClusterUuid), cell(kClique), cell(kPlatform));
      if (unreadable_.too_many()) return std::unexpected(unreadable_.unreadable_error("a table of NVLink cliques"));
      if (rows_.size() > kMaxCliqueRows) return too_many_rows();
    }
    unreadable_.finish();
    if (rows_.empty() && unreadable_.count() > 0)
      return std::unexpected(unreadable_.unreadable_error("a table of NVLink cliques"));
    return {};
  }

  static bool is_title_line(const std::vector<Cell>& cells) {
    return std::ranges::any_of(cells, [](const Cell& cell) { return parse_title(cell.text) == kClusterUuid; });
  }

  void read_row(std::size_t line, Cell node, Cell cluster_uuid, Cell clique, Cell platform) {
    if (node.text.empty() || node.text.size() > kMaxNameBytes || !is_clean_name(node.text)) {
      return unreadable_.add(line, node.column, "a node's name, without control characters");
    }
    // A missing cell is an unreadable row; a cell that says so is a row without a clique.
    if (!cluster_uuid.text.empty() && !clique.text.empty() &&
        (is_not_available(cluster_uuid.text) || is_not_available(clique.text))) {
      return note_not_available(node.text);
    }
    auto uuid = parse_uuid(cluster_uuid.text);
    if (!uuid) return unreadable_.add(line, cluster_uuid.column, kExpectedUuid);
    const auto number = parse_clique(clique.text);
    if (!number) return unreadable_.add(line, clique.column, kExpectedClique);
    if (platform.text.size() > kMaxNameBytes || !is_clean_name(platform.text)) {
      return unreadable_.add(line, platform.column, "a platform's name, without control characters");
    }
    rows_.push_back({std::string(node.text), std::move(*uuid), *number, std::string(platform.text)});
  }

  void note_not_available(std::string_view node) {
    if (not_available_.size() < kMaxFindingObjects) not_available_.emplace_back(node);
  }
  std::unexpected<Error> too_many_rows() const {
    return fail(ErrorKind::tooLarge, "fabric.tooLarge", fmt::format("more than {} rows", kMaxCliqueRows),
                options_.source);
  }

  // --- JSON
  Result<void> read_json(std::string_view text) {
    JsonReader json(text, options_.source);
    json.object([&](std::string_view field) {
      if (field != "nodes" && field != "items") return json.skip_value();
      return json.array([&] { return read_node(json); });
    });
    if (json.ok()) json.end();
    if (!json.ok()) return std::unexpected(json.error());
    return {};
  }

  bool read_node(JsonReader& json) {
    RowFields row;
    const std::size_t start = json.value_offset();
    if (!read_node_fields(json, row, true)) return false;
    if (row.node.empty()) return json.fail_at(start, "a node needs a name", "nvlinkCliques.node");
    if (row.cluster_uuid.empty() && row.clique.empty())
      return true;  // a node without a clique: not every node has GPUs
    if (is_not_available(row.cluster_uuid) || is_not_available(row.clique)) {
      note_not_available(row.node);
      return true;
    }
    auto uuid = parse_uuid(row.cluster_uuid);
    if (!uuid) return json.fail_at(start, "expected " + std::string(kExpectedUuid), "nvlinkCliques.clusterUuid");
    const auto clique = parse_clique(row.clique);
    if (!clique) return json.fail_at(start, "expected " + std::string(kExpectedClique), "nvlinkCliques.cliqueId");
    if (rows_.size() >= kMaxCliqueRows) return json.too_large(fmt::format("more than {} rows", kMaxCliqueRows));
    rows_.push_back({std::move(row.node), std::move(*uuid), *clique, std::move(row.platform)});
    return true;
  }

  // A node of ours, or a Kubernetes Node, whose name and labels are below "metadata".
  bool read_node_fields(JsonReader& json, RowFields& row, bool may_nest) {
    return json.object([&](std::string_view field) {
      if (field == "name") return json.name(row.node);
      if (field == "instance" || field == "platform") return json.name(row.platform);
      if (field == "clusterUuid") return json.name(row.cluster_uuid);
      if (field == "cliqueId") return read_clique_id(json, row.clique);
      if (field == "labels") return read_labels(json, row);
      if (field == "metadata" && may_nest) return read_node_fields(json, row, false);
      return json.skip_value();
    });
  }

  bool read_labels(JsonReader& json, RowFields& row) {
    std::string product, instance;
    const bool read = json.entries([&](std::string_view key) {
      if (key == "nvidia.com/gpu.product") return json.name(product);
      if (key == "node.kubernetes.io/instance-type") return json.name(instance);
      if (key != "nvidia.com/gpu.clique") return json.skip_value();
      std::string label;
      if (!json.name(label)) return false;
      const auto dot = label.rfind('.');
      row.cluster_uuid = label.substr(0, dot);
      row.clique = dot == std::string::npos ? "" : label.substr(dot + 1);
      return true;
    });
    // The product ("NVIDIA-GB200") says more than a cloud's name for the machine.
    if (row.platform.empty()) row.platform = product.empty() ? instance : product;
    return read;
  }

  bool read_clique_id(JsonReader& json, std::string& text) {
    if (json.peek() == '"') return json.name(text);
    std::uint32_t clique = 0;
    if (!json.whole_number(clique, UINT32_MAX - 1)) return false;
    text = std::to_string(clique);
    return true;
  }

  const ReadOptions& options_;
  TopologyBuilder& builder_;
  UnreadableLines unreadable_;
  std::vector<CliqueRow> rows_;
  std::vector<std::string> not_available_;
};

}  // namespace

Result<std::vector<CliqueRow>> read_clique_rows(std::string_view text, const ReadOptions& options,
                                                TopologyBuilder& builder) {
  const auto plain = plain_text(text, options);
  if (!plain) return std::unexpected(plain.error());
  return CliqueRowsReader(options, builder).read(*plain);
}

}  // namespace railweave::fabric
