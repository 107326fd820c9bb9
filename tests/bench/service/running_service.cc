#include "tests/bench/service/running_service.h"

#include <csignal>
#include <cstdio>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/base/check.h"

extern char** environ;

namespace railweave {

RunningService::RunningService() {
  std::string pattern = (std::filesystem::temp_directory_path() / "railweave-bench-XXXXXX").string();
  RAILWEAVE_CHECK(mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
  folder_ = pattern;
}

RunningService::~RunningService() {
  if (pid_ > 0) end(SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void RunningService::start() {
  int out[2];
  RAILWEAVE_CHECK(pipe2(out, O_CLOEXEC) == 0, "a pipe can be made");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  const std::string log = (folder_ / "log").string();
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  std::vector<std::string> words{RAILWEAVE_BINARY_DIR "/bin/railweaved",
                                 "--listen",
                                 "127.0.0.1:0",
                                 "--store",
                                 (folder_ / "store.db").string(),
                                 "--log-level",
                                 "warn",
                                 "--authentication",
                                 "none"};
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  RAILWEAVE_CHECK(posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) == 0, "railweaved is built");
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  FILE* stream = fdopen(out[0], "r");
  unsigned port = 0;
  const bool listens = std::fscanf(stream, "railweaved listens at http://127.0.0.1:%u", &port) == 1;
  std::fclose(stream);
  RAILWEAVE_CHECK(listens, "railweaved starts");
  port_ = static_cast<std::uint16_t>(port);
}

void RunningService::end(int signal) {
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

api::Client RunningService::client() const {
  api::ClientOptions options;
  options.timeout = std::chrono::minutes(5);
  return api::Client({"127.0.0.1", port_}, options);
}

std::string RunningService::must(const Result<api::ClientResponse>& answer) const {
  if (!answer) {
    std::fprintf(stderr, "%s\n", answer.error().text().c_str());
    std::abort();
  }
  if (!answer->ok()) {
    std::fprintf(stderr, "status %d: %s\n", answer->status, answer->body.c_str());
    std::abort();
  }
  return answer->body;
}

}  // namespace railweave
