#include "services/railweave/certificate_check.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "services/railweave/command_failure.h"

extern char** environ;  // NOLINT: POSIX declares it nowhere

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
      if (error) fail_file("the folder cannot be made: " + error.message(), path_);
      return;
    }
    std::string name = (fs::temp_directory_path(error) / "railweave-verify-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail_file("no temporary folder can be made", name);
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
  throw CommandFailure(ExitCode::not_found,
                       {ErrorKind::notFound, "cli.noVerifier", "railweave-verify is not beside this program",
                        beside.string(), "install it there, or run it by hand on the files of --keep"});
}

// Its exit status; what it says goes to the file.
int run(const fs::path& program, std::array<std::string, 3> files, const fs::path& said) {
  std::string name = program.string();
  std::array<char*, 5> arguments{name.data(), files[0].data(), files[1].data(), files[2].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, name.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) fail_file(std::string("cannot be started: ") + std::strerror(failed), program);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail_file("its end cannot be waited for", program);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

}  // namespace

void verify_certificate(Session& session, const std::string& keep) {
  const fs::path program = verifier();
  const Folder folder(keep);
  auto& service = session.service();
  const auto fabric = folder.write("fabric.json", service.get_text(Target("/v1/fabric/topology")));
  const auto certificate = folder.write("certificate.json", service.get_text(Target("/v1/guarantees/certificate")));
  const auto fdbs = folder.write("opensm.fdbs", service.get_text(Target("/v1/routes/fdbs")));
  const fs::path said = folder / "verdict.txt";
  const int status = run(program, {fabric.string(), fdbs.string(), certificate.string()}, said);
  std::ifstream in(said, std::ios::binary);
  const std::string verdict{std::istreambuf_iterator<char>(in), {}};
  if (status > 1) {
    throw CommandFailure(ExitCode::internal,
                         {ErrorKind::internal, "cli.verify", "railweave-verify: " + verdict, {}, {}});
  }
  if (status == 1) session.exit_code = ExitCode::findings;
  if (session.output.is_document()) {
    return session.output.document(Json{{"holds", status == 0}, {"verdict", verdict}});
  }
  session.output.text(verdict);
  if (status == 1) session.output.note("where tables changed meanwhile, ask again");
}

}  // namespace railweave::cli
