#include "fabric/formats/gpu/nvidia_smi_topo.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/formats/text/name_text.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

struct Word {
  std::string text;
  std::size_t column = 0;
};

// The words of a line, without the sequences that terminals underline with (ESC [ ... m).
std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  bool in_word = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '\x1b' && at + 1 < line.size() && line[at + 1] == '[') {
      at += 2;
      while (at < line.size() && (line[at] < '@' || line[at] > '~')) ++at;
    } else if (c == ' ' || c == '\t') {
      in_word = false;
    } else {
      if (!in_word) words.push_back({{}, at + 1});
      in_word = true;
      words.back().text += c;
    }
  }
  return words;
}

// "GPU7" -> 7.
std::optional<unsigned> number_after(std::string_view prefix, std::string_view word) {
  if (!word.starts_with(prefix)) return std::nullopt;
  word.remove_prefix(prefix.size());
  return whole_number<unsigned>(word);
}

std::optional<PciDistance> parse_distance(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, PciDistance>, 6> kWords{{{"PIX", PciDistance::same_switch},
                                                                                   {"PXB", PciDistance::switches},
                                                                                   {"PHB", PciDistance::host_bridge},
                                                                                   {"NODE", PciDistance::numa_node},
                                                                                   {"SYS", PciDistance::other_numa},
                                                                                   {"SOC", PciDistance::other_numa}}};
  for (const auto& [text, distance] : kWords) {
    if (text == word) return distance;
  }
  return std::nullopt;
}

class MatrixReader {
 public:
  explicit MatrixReader(const ReadOptions& options) : options_(options) {}

  Result<GpuAffinity> read(std::string_view text) {
    LineReader lines(text);
    for (std::string_view line; lines.next(line);) {
      line_ = lines.number();
      const auto words = words_of(line);
      Result<void> outcome;
      if (words.empty()) continue;
      if (titles_.empty()) {
        outcome = read_titles(words);
      } else if (number_after("GPU", words[0].text)) {
        outcome = read_row(words, line.size());
      } else if (words.size() == 2 && words[0].text.ends_with(':') &&
                 number_after("NIC", without_colon(words[0].text))) {
        outcome = read_legend(words);
      }
      if (!outcome) return std::unexpected(outcome.error());
    }
    return result();
  }

 private:
  struct Title {
    std::string text;
    std::optional<unsigned> gpu;  // else an adapter
    unsigned nic = 0;             // position among the adapters
  };

  static std::string_view without_colon(std::string_view word) { return word.substr(0, word.size() - 1); }
  [[nodiscard]] std::unexpected<Error> error(std::size_t column, std::string message) const {
    return fail(ErrorKind::malformed, "nvidiaSmiTopo.malformed", std::move(message),
                location_text(options_.source, line_, column));
  }

  // Titles of columns, up to "CPU Affinity". A line without GPU0 is text before the matrix.
  Result<void> read_titles(const std::vector<Word>& words) {
    if (std::ranges::find(words, "GPU0", &Word::text) == words.end()) return {};
    unsigned gpus = 0;
    for (const auto& word : words) {
      if (word.text == "CPU" || word.text == "NUMA") break;
      if (word.text.size() > kMaxNameBytes || !is_clean_name(word.text)) return error(word.column, "expected a title");
      Title title{word.text, number_after("GPU", word.text), 0};
      if (title.gpu && *title.gpu != gpus++) return error(word.column, "expected the titles GPU0, GPU1, ... in order");
      if (!title.gpu) {
        title.nic = static_cast<unsigned>(affinity_.nics.size());
        affinity_.nics.push_back({word.text, {}});
      }
      titles_.push_back(std::move(title));
    }
    if (gpus > TopologyBuilder::kMaxGpusPerHost || affinity_.nics.size() > kMaxAffinityNics) {
      return error(1,
                   fmt::format("more than {} GPUs or {} adapters", TopologyBuilder::kMaxGpusPerHost, kMaxAffinityNics));
    }
    affinity_.nics_of_gpu.resize(gpus);
    rows_seen_.resize(gpus);
    return {};
  }

  Result<void> read_row(const std::vector<Word>& words, std::size_t line_length) {
    const unsigned gpu = *number_after("GPU", words[0].text);
    if (gpu >= rows_seen_.size()) return error(words[0].column, "there is no column " + words[0].text);
    if (rows_seen_[gpu]) return error(words[0].column, "a second row " + words[0].text);
    rows_seen_[gpu] = true;
    for (std::size_t i = 0; i < titles_.size(); ++i) {
      if (i + 1 >= words.size()) {
        return error(line_length + 1, "the row of " + words[0].text + " ends before the column " + titles_[i].text);
      }
      const auto& cell = words[i + 1];
      const auto distance = parse_distance(cell.text);
      const bool linked = cell.text == "X" || number_after("NV", cell.text);
      if (!distance && !(linked && titles_[i].gpu)) {
        return error(cell.column, "expected PIX, PXB, PHB, NODE or SYS, or between GPUs X or NV#");
      }
      if (!titles_[i].gpu) affinity_.nics_of_gpu[gpu].push_back({titles_[i].nic, *distance, 0});
    }
    return {};
  }

  // "NIC0: mlx5_0"
  Result<void> read_legend(const std::vector<Word>& words) {
    const auto title = std::ranges::find(titles_, without_colon(words[0].text), &Title::text);
    if (title == titles_.end() || title->gpu) return error(words[0].column, "there is no column " + words[0].text);
    if (words[1].text.size() > kMaxNameBytes || !is_clean_name(words[1].text)) {
      return error(words[1].column, "expected a device name");
    }
    affinity_.nics[title->nic].device = words[1].text;
    return {};
  }

  Result<GpuAffinity> result() {
    line_ = titles_.empty() ? 1 : line_;
    if (titles_.empty()) return error(1, "expected a line of titles with GPU0: the matrix of nvidia-smi topo -m");
    if (const auto missing = std::ranges::find(rows_seen_, false); missing != rows_seen_.end()) {
      return error(1, fmt::format("the row of GPU{} is missing", missing - rows_seen_.begin()));
    }
    for (auto& nic : affinity_.nics) {
      if (number_after("NIC", nic.device)) nic.device.clear();  // no legend: known by its place only
    }
    const bool named = std::ranges::any_of(affinity_.nics, [](const auto& nic) { return !nic.device.empty(); });
    const bool unnamed = std::ranges::any_of(affinity_.nics, [](const auto& nic) { return nic.device.empty(); });
    if (named && unnamed) return error(1, "the NIC legend does not name every adapter");
    rank_adapters(affinity_);
    return std::move(affinity_);
  }

  const ReadOptions& options_;
  std::size_t line_ = 0;
  std::vector<Title> titles_;
  std::vector<bool> rows_seen_;
  GpuAffinity affinity_;
};

}  // namespace

Result<GpuAffinity> read_nvidia_smi_topo(std::string_view text, const ReadOptions& options) {
  if (text.size() > kMaxAffinityBytes) {
    return fail(ErrorKind::tooLarge, "input.tooLarge",
                fmt::format("the matrix has {} bytes; at most {} are read", text.size(), kMaxAffinityBytes),
                options.source);
  }
  const auto plain = plain_text(text, options);
  if (!plain) return std::unexpected(plain.error());
  return MatrixReader(options).read(*plain);
}

}  // namespace railweave::fabric
