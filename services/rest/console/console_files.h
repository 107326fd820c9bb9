// The operator's console as `npm run build` leaves it in web/dist: read once, at start, and held in memory. What is
// served is looked up in that table, so no request reaches the file system. Constant after construction; then safe from
// any thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "fabric/base/error.h"

namespace railweave::api {

struct ConsoleFile {
  std::shared_ptr<const std::string> body;
  std::string content_type;
  std::string etag;
  bool immutable = false;  // its name changes with its content: browsers keep it for good
};

class ConsoleFiles {
 public:
  static constexpr std::size_t kMaxFiles = 1000;
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20U;

  // Regular files of the folder and below, without symbolic links and names that begin with a dot. Errors:
  // console.noFolder, console.notBuilt (no index.html), console.tooLarge, console.unreadable.
  static Result<ConsoleFiles> read(const std::filesystem::path& folder);

  // By its path below the folder, "assets/index-3f2a.js"; null: there is none.
  [[nodiscard]] const ConsoleFile* find(std::string_view path) const;
  [[nodiscard]] const ConsoleFile& index() const { return *find("index.html"); }
  [[nodiscard]] std::size_t size() const { return files_.size(); }

 private:
  ConsoleFiles() = default;

  std::map<std::string, ConsoleFile, std::less<>> files_;
};

}  // namespace railweave::api
