// What each switch was given last, a file for each in a folder: what a follower resumes from. One process at a time has the folder.
#pragma once

#include <filesystem>
#include <string>

namespace railweave::cli {

class GivenRoutes {
 public:
  // Makes the folder and locks it; a dry run only reads what there is. what: whose routes they are, in which form; another folder is
  // needed for others. Throws CommandFailure.
  GivenRoutes(std::filesystem::path folder, const std::string& what, bool is_dry_run);
  ~GivenRoutes();
  GivenRoutes(const GivenRoutes&) = delete;
  GivenRoutes& operator=(const GivenRoutes&) = delete;

  // All throw CommandFailure.
  [[nodiscard]] std::string of(const std::string& name) const;  // "": nothing was
  // The mark that was kept with it; "": none, or it was given nothing.
  [[nodiscard]] std::string mark_of(const std::string& name) const;
  void keep(const std::string& name, const std::string& text) const;  // without a mark
  void keep_mark(const std::string& name, const std::string& mark) const;

 private:
  [[nodiscard]] std::filesystem::path file_of(const char* kind, const std::string& name) const;

  const std::filesystem::path folder_;
  int lock_ = -1;  // a descriptor; none in a dry run
};

}  // namespace railweave::cli
