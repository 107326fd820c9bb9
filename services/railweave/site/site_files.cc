#include "services/railweave/site/site_files.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

#include "fabric/base/byte_order_mark.h"
#include "fabric/base/natural_order.h"
#include "fabric/base/text/time_text.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kMaxFiles = 10'000;
constexpr std::size_t kMaxBytes = std::size_t{2} << 30U;  // of all together

struct NamedFile {
  std::string path;
  bool from_folder = false;
};

std::vector<NamedFile> files_below(const std::vector<std::string>& paths) {
  std::vector<NamedFile> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path == "-" || is_url(path) || !std::filesystem::is_directory(path, error)) {
      files.push_back({path, false});
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (entry.is_regular_file(error)) inside.push_back(entry.path().string());
    }
    if (error || inside.empty()) {
      throw CommandFailure(Error{ErrorKind::invalid, "site.emptyFolder", "there is no file in this folder", path, {}});
    }
    std::ranges::sort(inside, NaturalLess());
    for (std::string& file : inside) files.push_back({std::move(file), true});
  }
  if (files.size() > kMaxFiles) fail_usage("more than 10,000 files");
  if (std::ranges::count(files, "-", &NamedFile::path) > 1) fail_usage("stdin can be read only once");
  return files;
}

std::string written_at(const std::string& path) {
  struct stat status{};
  if (path == "-" || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  constexpr std::int64_t kUs = 1'000'000;
  return time_text(static_cast<std::int64_t>(status.st_mtime) * kUs);
}

// Slurm's topology.yaml, Topograph's models, kubectl -o yaml.
bool looks_like_yaml(const SiteFile& file) {
  if (file.path.ends_with(".yaml") || file.path.ends_with(".yml")) return true;
  const auto begin = file.text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || file.recognised.kind != fabric::SourceKind::unknown) return false;
  const std::string_view line = std::string_view(file.text).substr(begin, file.text.find('\n', begin) - begin);
  return line.starts_with("---") || line.starts_with("- ") || line.ends_with(':');
}

bool mentions(const std::string& text, const char* kind) { return text.find(kind) != std::string::npos; }

// `kubectl get nodes,pods -o json` is one list of both, which are read apart.
std::vector<SiteFile> by_kind(SiteFile file) {
  using fabric::SourceKind;
  const SourceKind kind = file.recognised.kind;
  const bool of_kubernetes = kind == SourceKind::kubernetes_nodes || kind == SourceKind::kubernetes_pods;
  std::vector<SiteFile> files;
  if (of_kubernetes && mentions(file.text, "\"Node\"") && mentions(file.text, "\"Pod\"")) {
    if (const auto document = parse_json(file.text, file.name)) {
      Json pods = Json::array(), others = Json::array();
      bool any_node = false;
      for (const Json& item : list(*document, "items")) {
        const std::string of = item.is_object() ? text_of(item, "kind") : std::string();
        any_node = any_node || of == "Node";
        (of == "Pod" ? pods : others).push_back(item);
      }
      if (any_node && !pods.empty()) {
        SiteFile of_pods = file;
        of_pods.text = compact_json({{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(pods)}});
        of_pods.recognised = {SourceKind::kubernetes_pods, "its list has kind Pod, too"};
        file.text = compact_json({{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(others)}});
        file.recognised = {SourceKind::kubernetes_nodes, "its list has kind Node"};
        files.push_back(std::move(of_pods));
      }
    }
  }
  files.insert(files.begin(), std::move(file));
  return files;
}

}  // namespace

std::vector<SiteFile> read_site_files(const std::vector<std::string>& paths, const FetchAccess& access) {
  std::vector<SiteFile> files;
  std::size_t bytes = 0;
  for (const auto& [path, from_folder] : files_below(paths)) {
    SiteFile file{.path = path,
                  .name = is_url(path) ? shown_url(path) : source_name(path),
                  .text = {},
                  .read_at = written_at(path),
                  .recognised = {},
                  .from_folder = from_folder};
    file.text =
        value_or_fail(is_url(path) ? fetch(path, access, kMaxFabricFileBytes) : read_input(path, kMaxFabricFileBytes));
    file.text.erase(0, file.text.size() - without_byte_order_mark(file.text).size());  // not all readers take one
    bytes += file.text.size();
    if (bytes > kMaxBytes) {
      throw CommandFailure(
          Error{ErrorKind::tooLarge, "site.tooLarge", "all files together are larger than 2 GiB", path, {}});
    }
    file.recognised = fabric::recognise(file.text);
    if (looks_like_yaml(file)) {
      file.text = compact_json(value_or_fail(parse_document(file.text, file.name)));
      file.recognised = fabric::recognise(file.text);
    }
    for (SiteFile& one : by_kind(std::move(file))) files.push_back(std::move(one));
  }
  return files;
}

void refuse_unknown(const std::vector<SiteFile>& files, Output& output) {
  const auto is_unknown = [](const SiteFile& file) { return file.recognised.kind == fabric::SourceKind::unknown; };
  const bool nothing_else = std::ranges::all_of(files, is_unknown);
  std::vector<std::string> left_out;
  for (const SiteFile& file : files) {
    if (!is_unknown(file)) continue;
    if (!file.from_folder || nothing_else) {
      output.note("railweave: what is read:");
      std::istringstream lines(fabric::readable_sources());
      for (std::string line; std::getline(lines, line);) output.note(line);
      throw CommandFailure(Error{ErrorKind::malformed, "input.format",
                                 "the format is not recognised: " + file.recognised.why, file.name,
                                 "it is none of those above"});
    }
    left_out.push_back(file.name + " (" + file.recognised.why + ")");
  }
  if (left_out.empty()) return;
  constexpr std::size_t kMaxNamed = 20;
  std::string names;
  for (std::size_t i = 0; i < std::min(left_out.size(), kMaxNamed); ++i) names += (i == 0 ? "" : ", ") + left_out[i];
  if (left_out.size() > kMaxNamed) names += fmt::format(", and {} more", left_out.size() - kMaxNamed);
  output.note("railweave: note: left out of the folder, as nothing that is read: " + names);
}

std::shared_ptr<const fabric::Topology> fabric_of(const std::vector<SiteFile>& files,
                                                  const fabric::SiteImportOptions& options) {
  std::vector<fabric::SiteSource> sources;
  for (const SiteFile& file : files) {
    sources.push_back({.name = file.name,
                       .device = fabric::device_of_file(file.path),
                       .read_at = file.read_at,
                       .recognised = file.recognised,
                       .text = file.text});
  }
  return value_or_fail(fabric::import_site(sources, options)).topology;
}

}  // namespace railweave::cli
