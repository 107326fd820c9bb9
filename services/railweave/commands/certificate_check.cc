#include "services/railweave/commands/certificate_check.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "services/railweave/terminal/command_failure.h"

extern char** environ;  // NOLINT: no POSIX header declares it

namespace railweave::cli {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_file(const std::string& what, const fs::path& path) {
  throw CommandFailure(ExitCode::internal, {ErrorKind::internal, "cli.verify", what, path.string(), {}});
}

class Folder {
 public:
  explicit Folder(const std::string& keep) : kept_(!keep.empty()) {
    std::error_code error;
    if (kept_) {
      path_ = keep;
      fs::create_directories(path_, error);
      if (error) fail_file("the folder cannot be created: " + error.message(), path_);
      return;
    }
    std::string name = (fs::temp_directory_path(error) / "railweave-verify-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail_file("a temporary folder cannot be created", name);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!kept_) fs::remove_all(path_, ignored);
  }

  [[nodiscard]] fs::path write(const char* name, const std::string& text) const {
    const fs::path file = path_ / name;
    std::ofstream out(file, std::ios::binary);
    out << text;
    out.close();
    if (!out) fail_file("the file cannot be written", file);
    return file;
  }
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }

 private:
  bool kept_;
  fs::path path_;
};

fs::path verifier() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = own.parent_path() / "railweave-verify";
  if (!error && fs::exists(beside, error)) return beside;
  throw CommandFailure(ExitCode::not_found, {ErrorKind::notFound, "cli.noVerifier", "railweave-verify is not installed",
                                             beside.string(), "install it beside railweave"});
}

// The exit status; its output goes to the file.
int run(const fs::path& program, std::vector<std::string> words, const fs::path& output) {
  std::string name = program.string();
  std::vector<char*> arguments{name.data()};
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, name.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) fail_file(std::string("cannot be started: ") + std::strerror(failed), program);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail_file("waiting for its end failed", program);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

// Links between switches on which failure-proof guarantees reserve bandwidth, by name, most reserved first.
std::vector<std::string> links_survived(const Json& certificate) {
  std::set<std::string> adapters;
  std::set<std::size_t> classes;
  const Json& names = certificate.at("classes");
  for (const Json& job : certificate.at("jobs")) {
    if (!job.value("survivesLinkFailure", false)) continue;
    for (std::size_t c = 0; c < names.size(); ++c) {
      if (names[c].at("name") == job.at("class")) classes.insert(c);
    }
  }
  for (const Json& job : certificate.at("jobs")) {
    for (const Json& port : job.value("ports", Json::array())) adapters.insert(port.at("port"));
    for (const Json& flow : job.value("flows", Json::array())) {
      adapters.insert(flow.at("from"));
      adapters.insert(flow.at("to"));
    }
  }
  std::map<std::string, std::int64_t> reserved;
  for (const Json& link : certificate.at("links")) {
    std::string from = link.at("from"), to = link.at("to");
    if (adapters.contains(from) || adapters.contains(to)) continue;
    if (to < from) std::swap(from, to);
    for (const std::size_t c : classes) {
      const auto mbps = link.at("reservedMbps").at(c).get<std::int64_t>();
      if (mbps > 0) reserved[from + "--" + to] += mbps;
    }
  }
  std::vector<std::string> links;
  for (const auto& [link, mbps] : reserved) links.push_back(link);
  std::ranges::stable_sort(links, std::greater{}, [&](const std::string& link) { return reserved.at(link); });
  return links;
}

}  // namespace

void verify_certificate(Session& session, const CertificateCheck& check) {
  const fs::path program = verifier();
  const Folder folder(check.keep);
  auto& service = session.service();
  const auto fabric = folder.write("fabric.json", service.get_text(Target("/v1/fabric/topology")));
  const std::string document = service.get_text(Target("/v1/guarantees/certificate"));
  const auto certificate = folder.write("certificate.json", document);
  const auto fdbs = folder.write("opensm.fdbs", service.get_text(Target("/v1/routes/fdbs")));
  const fs::path output_file = folder / "verdict.txt";
  std::vector<std::string> words{fabric.string(), fdbs.string(), certificate.string()};
  const auto survived = check.failures > 0 ? links_survived(Json::parse(document)) : std::vector<std::string>();
  const std::size_t failures = std::min<std::size_t>(survived.size(), check.failures);
  for (std::size_t i = 0; i < failures; ++i) {
    Target target("/v1/routes/fdbs");
    target.query("failLink", survived[i]);
    const auto after = folder.write(("after-" + std::to_string(i + 1) + ".fdbs").c_str(), service.get_text(target));
    words.insert(words.end(), {"--after", survived[i] + "=" + after.string()});
  }
  const int status = run(program, std::move(words), output_file);
  std::ifstream in(output_file, std::ios::binary);
  const std::string verdict{std::istreambuf_iterator<char>(in), {}};
  if (status > 1) {
    throw CommandFailure(ExitCode::internal,
                         {ErrorKind::internal, "cli.verify", "railweave-verify: " + verdict, {}, {}});
  }
  if (status == 1) session.exit_code = ExitCode::findings;
  if (session.output.is_document()) {
    return session.output.document(Json{{"holds", status == 0},
                                        {"failuresChecked", failures},
                                        {"linksSurvived", survived.size()},
                                        {"verdict", verdict}});
  }
  session.output.text(verdict);
  if (failures < survived.size()) {
    session.output.note("checked the failure of the " + std::to_string(failures) + " fullest of " +
                        std::to_string(survived.size()) + " links (--failures N checks more)");
  }
  if (status == 1) session.output.note("if tables changed meanwhile, run this command again");
}

}  // namespace railweave::cli
