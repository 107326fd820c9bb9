#include "services/rest/handlers/service/process_metrics.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

namespace railweave::api {
namespace {

using Type = PrometheusText::Type;

// Fields of /proc/self/stat after the program's name, which may have spaces (proc(5)).
struct ProcessStat {
  std::uint64_t user_ticks = 0, system_ticks = 0, start_ticks = 0, virtual_bytes = 0, resident_pages = 0, threads = 0;
};

std::optional<ProcessStat> read_stat() {
  std::ifstream file("/proc/self/stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const auto name_ends = line.rfind(')');
  if (name_ends == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_ends + 1));
  const auto skip = [&](int count) {
    std::string word;
    while (count-- > 0) fields >> word;
  };
  ProcessStat stat;
  skip(11);  // state .. cmajflt
  fields >> stat.user_ticks >> stat.system_ticks;
  skip(4);  // cutime .. nice
  fields >> stat.threads;
  skip(1);  // itrealvalue
  fields >> stat.start_ticks >> stat.virtual_bytes >> stat.resident_pages;
  return fields ? std::optional(stat) : std::nullopt;
}

// Seconds since 1970 at which the machine started; 0: unknown.
std::uint64_t boot_seconds() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    std::uint64_t seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return 0;
}

std::uint64_t open_descriptors() {
  std::error_code failed;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", failed), end; !failed && at != end;
       at.increment(failed)) {
    ++count;
  }
  return count;
}

}  // namespace

void render_process(PrometheusText& text) {
  const auto stat = read_stat();
  if (!stat) return;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  text.single("process_cpu_seconds_total", Type::counter, "Processor time that the process has used.",
              static_cast<double>(stat->user_ticks + stat->system_ticks) / ticks);
  text.single("process_start_time_seconds", Type::gauge, "When the process started, in seconds since 1970.",
              static_cast<double>(boot_seconds()) + static_cast<double>(stat->start_ticks) / ticks);
  text.single("process_resident_memory_bytes", Type::gauge, "Memory that the process has in use.",
              stat->resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  text.single("process_virtual_memory_bytes", Type::gauge, "Address space of the process.", stat->virtual_bytes);
  text.single("process_threads", Type::gauge, "Threads of the process.", stat->threads);
  text.single("process_open_fds", Type::gauge, "Files and sockets that are open.", open_descriptors());
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    text.single("process_max_fds", Type::gauge, "Files and sockets that may be open.",
                static_cast<std::uint64_t>(limit.rlim_cur));
  }
}

}  // namespace railweave::api
