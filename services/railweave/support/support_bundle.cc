#include "services/railweave/support/support_bundle.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sys/utsname.h>

#include "api/http/message/gzip.h"
#include "fabric/base/text/time_text.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/support/redaction.h"
#include "services/railweave/support/tar_archive.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/json.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

constexpr const char* kConfiguration = "/etc/railweave/railweaved.toml";
constexpr std::uint64_t kMegabyte = 1U << 20U;
constexpr unsigned kOwnerOnly = 0600;
constexpr int kCompression = 6;

struct BundleOptions {
  std::string path;
  std::vector<std::string> configurations, logs;
  std::uint64_t log_megabytes = 8, events = 2'000;
};

struct Question {
  std::string_view name, target;
  bool is_list = false;
};

// Tokens are left out altogether. Lists are read whole.
constexpr std::array kQuestions = {
    Question{"leader.json", "/v1/leader"},
    Question{"fabric.json", "/v1/fabric"},
    Question{"queue.json", "/v1/queue"},
    Question{"subnets.json", "/v1/subnets", true},
    Question{"alarms.json", "/v1/alarms", true},
    Question{"drains.json", "/v1/drains", true},
    Question{"tenants.json", "/v1/tenants", true},
    Question{"jobs.json", "/v1/jobs", true},
    Question{"guarantees.json", "/v1/guarantees", true},
    Question{"contracts.json", "/v1/contracts", true},
    Question{"qos-classes.json", "/v1/qos-classes"},
    Question{"webhooks.json", "/v1/webhooks", true},
    Question{"operations.json", "/v1/operations", true},
};

class Bundle {
 public:
  explicit Bundle(std::int64_t now_us) : folder_("railweave-support/"), archive_(now_us / 1'000'000) {}

  void add(std::string_view name, std::string_view text) {
    archive_.add(folder_ + std::string(name), redacted(text));
    names_.emplace_back(name);
  }
  // What cannot be had is told, and everything else still goes in.
  template <class Content>
  void try_add(std::string_view name, Content content) {
    try {
      add(name, content());
    } catch (const CommandFailure& failure) {
      missing_ += fmt::format("{}: {}\n", name, failure.error().text());
    }
  }
  void note_missing(const std::string& what) { missing_ += what + "\n"; }
  [[nodiscard]] bool has(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] const std::string& missing() const { return missing_; }
  std::string take() { return api::gzip(archive_.take(), kCompression); }

 private:
  std::string folder_;
  TarArchive archive_;
  std::vector<std::string> names_;
  std::string missing_;
};

std::string machine_text() {
  utsname machine{};
  if (uname(&machine) != 0) return "unknown\n";
  return fmt::format("{} {} {}\n", machine.sysname, machine.release, machine.machine);
}

Json all_of(Service& service, const Question& asked) {
  Json answer{{"items", Json::array()}};
  Json& items = answer["items"];
  service.each_item(Target(asked.target), 0, [&](const Json& item) { items.push_back(item); }, [&] { items.clear(); });
  return answer;
}

// The newest: the journal is read forwards, from that far back.
Json newest_events(Service& service, std::uint64_t count) {
  const std::uint64_t seq = count_of(field(service.get(Target("/v1/leader")), "replica"), "seq");
  return service.get(Target("/v1/events")
                         .query("after", std::to_string(seq > count ? seq - count : 0))
                         .query("limit", std::to_string(std::clamp<std::uint64_t>(count, 1, 10'000))));
}

void add_answers(Bundle& bundle, Service& service, const BundleOptions& options) {
  bundle.try_add("ready.json", [&] {
    api::ClientRequest request;
    request.target = "/readyz";
    return json_text(service.send(std::move(request), [](int status) { return status == 503; }).body);
  });
  for (const Question& asked : kQuestions) {
    bundle.try_add(asked.name, [&] {
      return json_text(asked.is_list ? all_of(service, asked) : service.get(Target(asked.target)));
    });
  }
  bundle.try_add("events.json", [&] { return json_text(newest_events(service, options.events)); });
  bundle.try_add("audit.json", [&] { return json_text(service.get(Target("/v1/audit").query("limit", "1000"))); });
  bundle.try_add("metrics.txt", [&] { return service.get_text(Target("/metrics")); });
}

// At most the last `limit` bytes, from the beginning of a line.
std::string end_of_file(const std::string& path, std::uint64_t limit) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw CommandFailure({ErrorKind::notFound, "cli.cannotReadFile", "cannot be read", path, {}});
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(0, file.tellg()));
  file.seekg(static_cast<std::streamoff>(size > limit ? size - limit : 0));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (size > limit) text.erase(0, text.find('\n') + 1);
  return text;
}

void add_files(Bundle& bundle, const std::string& folder, const std::vector<std::string>& paths, std::uint64_t limit) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    // Two files of one name are told apart by the number.
    const std::string name = fmt::format("{}{}-{}", folder, i + 1, std::filesystem::path(paths[i]).filename().string());
    bundle.try_add(name.substr(0, TarArchive::kMaxName / 2), [&] { return end_of_file(paths[i], limit); });
  }
}

void write_bundle(Session& session, const BundleOptions& options) {
  const std::int64_t now_us =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  Bundle bundle(now_us);
  bundle.add("version.txt", "railweave " RAILWEAVE_VERSION "\nmade " + time_text(now_us) + "\n" + machine_text());
  try {
    add_answers(bundle, session.service(), options);
  } catch (const CommandFailure& failure) {  // no address, or no login that can be read
    bundle.note_missing("the service: " + failure.error().text());
  }
  if (!bundle.has("ready.json")) session.exit_code = ExitCode::unreachable;
  auto configurations = options.configurations;
  std::error_code unreadable;
  if (configurations.empty() && std::filesystem::exists(kConfiguration, unreadable))
    configurations.emplace_back(kConfiguration);
  const std::uint64_t limit = options.log_megabytes * kMegabyte;
  add_files(bundle, "configuration/", configurations, limit);
  add_files(bundle, "logs/", options.logs, limit);
  const std::string missing = bundle.missing();
  if (!missing.empty()) bundle.add("missing.txt", missing);
  const std::string path =
      options.path.empty() ? fmt::format("railweave-support-{}.tar.gz", now_us / 1'000'000) : options.path;
  write_file(path, bundle.take(), kOwnerOnly);
  session.output.text(path + "\n");
  session.output.note(fmt::format("railweave: {} files without secrets; look at them before you send them (tar tzf {})",
                                  bundle.size(), path));
  if (!missing.empty()) session.output.note("railweave: left out, see missing.txt in it:\n" + missing);
}

}  // namespace

void add_support_bundle_command(CLI::App& root, Session& session) {
  auto options = std::make_shared<BundleOptions>();
  CLI::App& command = add_command(
      root, "support-bundle", "Put what others need to help into one file, without secrets",
      {"railweave support-bundle", "railweave support-bundle -O bundle.tar.gz --log /var/log/railweaved.log",
       "railweave support-bundle --config /etc/railweave/railweaved.toml --log-megabytes 32"});
  command.add_option("-O,--output-file", options->path, "Write to this file; by default named by the time")
      ->type_name("FILE");
  command.add_option("--config", options->configurations, "Add this configuration; by default that of the package")
      ->type_name("FILE");
  command.add_option("--log", options->logs, "Add the end of this log; again for more of them")->type_name("FILE");
  command.group("Service");
  add_number_option(command, "--log-megabytes", options->log_megabytes, "Of each log, at most",
                    {.least = 1, .most = 1024});
  add_number_option(command, "--events", options->events, "Newest events, this number of them",
                    {.least = 1, .most = 10'000});
  on_run(command, session, [&session, options] { write_bundle(session, *options); });
}

}  // namespace railweave::cli
