#include "services/rest/console/console_files.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <utility>

#include "api/http/message/etag.h"
#include "fabric/base/fnv1a.h"

namespace railweave::api {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBuildHint = "build it with web/build.sh, or name its folder with --console DIR";

std::string type_of_file(const fs::path& file) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> types = {{
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".json", "application/json"},
      {".map", "application/json"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".ico", "image/x-icon"},
      {".woff2", "font/woff2"},
      {".wasm", "application/wasm"},
      {".txt", "text/plain; charset=utf-8"},
      {".webmanifest", "application/manifest+json"},
  }};
  const std::string extension = file.extension().string();
  for (const auto& [known, type] : types) {
    if (extension == known) return std::string(type);
  }
  return "application/octet-stream";
}

std::string digest_text(std::string_view bytes) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(Fnv1a().add(bytes).value()));
  return text.data();
}

Result<std::string> file_bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) {
    return fail(ErrorKind::unavailable, "console.unreadable", "the file cannot be read", file.string());
  }
  return bytes;
}

}  // namespace

Result<ConsoleFiles> ConsoleFiles::read(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return fail(ErrorKind::notFound, "console.noFolder", "there is no such folder", folder.string(),
                std::string(kBuildHint));
  }
  ConsoleFiles console;
  std::size_t bytes_read = 0;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) {
      at.disable_recursion_pending();
      continue;
    }
    if (!fs::is_regular_file(at->symlink_status(error))) continue;
    const auto size = at->file_size(error);
    if (error) break;
    bytes_read += size;
    if (console.files_.size() == kMaxFiles || bytes_read > kMaxBytes) {
      return fail(ErrorKind::tooLarge, "console.tooLarge", "the folder holds more than a built console does",
                  folder.string(), "name the folder that was built, web/dist");
    }
    auto bytes = file_bytes(at->path());
    if (!bytes) return std::unexpected(bytes.error());
    ConsoleFile file;
    const std::string name = at->path().lexically_relative(folder).generic_string();
    file.content_type = type_of_file(at->path());
    file.etag = strong_etag("console." + digest_text(*bytes));
    file.immutable = name.starts_with("assets/");
    file.body = std::make_shared<const std::string>(std::move(*bytes));
    console.files_.emplace(name, std::move(file));
  }
  if (error) return fail(ErrorKind::unavailable, "console.unreadable", error.message(), folder.string());
  if (console.find("index.html") == nullptr) {
    return fail(ErrorKind::notFound, "console.notBuilt", "the folder has no index.html", folder.string(),
                std::string(kBuildHint));
  }
  return console;
}

const ConsoleFile* ConsoleFiles::find(std::string_view path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace railweave::api
