#include "services/railweave/commands/certificate_check.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/process/program.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/json.h"

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

struct Verdict {
  int status = 0;
  std::string text;
};

// The text is kept in the file, too.
Verdict run(const fs::path& program, std::vector<std::string> words, const Folder& folder) {
  words.insert(words.begin(), program.string());
  auto end = run_program({.arguments = std::move(words)});
  if (!end) fail_file(end.error().message, program);
  Verdict verdict{.status = end->signal == 0 ? end->exit_code : 2, .text = std::move(end->output) + end->errors};
  if (end->signal != 0) verdict.text += end->how() + "\n";
  static_cast<void>(folder.write("verdict.txt", verdict.text));
  return verdict;
}

// All items of a list, as one document.
Json whole_list(Service& service, const Target& target) {
  Json items = Json::array();
  service.each_item(target, 0, [&](const Json& item) { items.push_back(item); }, [&] { items.clear(); });
  return {{"items", std::move(items)}};
}

// The running jobs of tenants with a contract, with their ranks: what guarantees are derived from by railweave-verify.
Json jobs_with_ranks(Service& service, const Json& contracts) {
  std::set<std::string> tenants;
  for (const Json& contract : list(contracts, "items")) tenants.insert(text_of(contract, "id"));
  Json items = Json::array();
  const Json placed = whole_list(service, Target("/v1/jobs").query("state", "placed"));
  for (const Json& line : list(placed, "items")) {
    if (!tenants.contains(text_of(line, "tenant"))) continue;
    const std::string path = "/v1/jobs/" + text_of(line, "id");
    const Json job = service.get(Target(path));
    Json item = Json::object();
    for (const FieldName name : std::initializer_list<FieldName>{"job", "tenant", "state", "spec", "guarantee"}) {
      item[std::string(name.text())] = field(job, name);
    }
    item["ranks"] = list(whole_list(service, Target(path + "/ranks")), "items");
    items.push_back(std::move(item));
  }
  return {{"items", std::move(items)}};
}

Json links_down(Service& service) {
  Json down = Json::array();
  const Json links = whole_list(service, Target("/v1/links").query("fields", "id,state,lastState"));
  for (const Json& link : list(links, "items")) {
    // As the certificate counts them: held ones carry nothing, and what is not seen is as it was last.
    const std::string shown = text_of(link, "state");
    const std::string state = shown == "unknown" ? text_of(link, "lastState") : shown;
    if (state == "down" || state == "held") down.push_back({{"id", field(link, "id")}});
  }
  return {{"items", std::move(down)}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.find("--") != std::string::npos && !line.starts_with("FAULT")) lines.push_back(line);
  }
  return lines;
}

}  // namespace

void verify_certificate(Session& session, const CertificateCheck& check) {
  const fs::path program = verifier();
  const Folder folder(check.keep);
  auto& service = session.service();
  const auto fabric = folder.write("fabric.json", service.get_text(Target("/v1/fabric/topology")));
  const std::string written = service.get_text(Target("/v1/guarantees/certificate"));
  const auto certificate = folder.write("certificate.json", written);
  const auto fdbs = folder.write("opensm.fdbs", service.get_text(Target("/v1/routes/fdbs")));
  const Json contracts = whole_list(service, Target("/v1/contracts"));
  std::vector<std::string> words{fabric.string(), fdbs.string(), certificate.string()};
  if (written.find("\n\"signature\":") != std::string::npos) {
    const Json key = service.get(Target("/v1/guarantees/certificate/key"));
    words.insert(words.end(), {"--public-key", folder.write("certificate.pub", text_of(key, "publicKey")).string()});
  }
  const auto outside = [&](const char* option, const char* name, const std::string& text) {
    words.insert(words.end(), {option, folder.write(name, text).string()});
  };
  outside("--contracts", "contracts.json", contracts.dump());
  outside("--classes", "classes.json", service.get_text(Target("/v1/qos-classes")));
  outside("--jobs", "jobs.json", jobs_with_ranks(service, contracts).dump());
  outside("--links-down", "links-down.json", links_down(service).dump());
  outside("--subnets", "subnets.json", whole_list(service, Target("/v1/subnets").query("fields", "id,routing")).dump());
  // Which failures are claimed to be survived, railweave-verify finds by itself.
  std::vector<std::string> claims = words;
  claims.emplace_back("--list-failures");
  const Verdict listed = run(program, std::move(claims), folder);
  if (listed.status > 1) fail_file("railweave-verify: " + listed.text, program);
  const std::vector<std::string> survived = lines_of(listed.text);
  const std::size_t failures = std::min<std::size_t>(survived.size(), check.failures.value_or(survived.size()));
  std::string after;
  for (std::size_t i = 0; i < failures; ++i) {
    Target target("/v1/routes/fdbs");
    target.query("failLink", survived[i]);
    const auto tables = folder.write((fmt::format("after-{}.fdbs", i + 1)).c_str(), service.get_text(target));
    after += survived[i] + "=" + tables.string() + "\n";
  }
  words.insert(words.end(), {"--after-list", folder.write("after.txt", after).string()});
  const auto [status, verdict] = run(program, std::move(words), folder);
  constexpr int kDoesNotHold = 1, kIncomplete = 3;
  if (status > kDoesNotHold && status != kIncomplete) {
    throw CommandFailure(ExitCode::internal,
                         {ErrorKind::internal, "cli.verify", "railweave-verify: " + verdict, {}, {}});
  }
  if (status != 0) session.exit_code = ExitCode::findings;
  if (session.output.is_document()) {
    return session.output.document(Json{{"holds", status == 0},
                                        {"complete", status != kIncomplete},
                                        {"failuresChecked", failures},
                                        {"linksSurvived", survived.size()},
                                        {"verdict", verdict}});
  }
  session.output.text(verdict);
  if (status == kDoesNotHold) session.output.note("if jobs or tables changed meanwhile, run this command again");
}

}  // namespace railweave::cli
