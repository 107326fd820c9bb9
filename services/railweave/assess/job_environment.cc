#include "services/railweave/assess/job_environment.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "fabric/formats/slurm/hostlist.h"
#include "fabric/formats/sources/site_import.h"
#include "services/railweave/assess/pod_fields.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/shell_text.h"

namespace railweave::cli {
namespace {

constexpr std::string_view kPrefix = "NCCL_";
constexpr std::size_t kMaxEnvironments = 100'000;

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

bool made_elsewhere(std::string_view value) { return value.find_first_of("$`") != std::string_view::npos; }

// A step has the environment of who starts it, so this one looks at the job's processes on its first node.
std::string command_for_job(const std::string& id) {
  return "srun --jobid=" + id +
         " --overlap -N 1 -n 1 sh -c '"
         "for p in $(scontrol listpids $SLURM_JOB_ID $SLURMD_NODENAME | cut -d\" \" -f1); "
         "do tr \"\\0\" \"\\n\" < /proc/$p/environ; done 2> /dev/null | grep ^NCCL_ | sort -u'";
}

// One of /proc/PID/environ has its variables apart by NUL.
std::string command_for_file(const std::string& path) {
  if (path == "-") return "env | grep ^NCCL_";
  return "tr '\\0' '\\n' < " + shell_quoted(path) + " | grep NCCL_";
}

// One word of a shell: up to a blank, ";" or "&" outside quotes, which are taken off.
std::string shell_word(std::string_view& text) {
  std::string word;
  char quote = '\0';
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0' && c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote == '\0' && (c == ' ' || c == '\t' || c == ';' || c == '&')) {
      break;
    } else {
      word += c;
    }
  }
  text.remove_prefix(std::min(i + 1, text.size()));
  return word;
}

// All variables of a file, in the order of its lines; scripts may name several in a line, and unset them again.
class EnvironmentText {
 public:
  explicit EnvironmentText(std::string_view text) { read(text); }
  std::map<std::string, std::string> variables;

 private:
  void read(std::string_view text) {
    const char end = text.find('\0') != std::string_view::npos ? '\0' : '\n';  // as in /proc/PID/environ
    while (!text.empty()) {
      const auto length = std::min(text.find(end), text.size());
      line(text.substr(0, length));
      text.remove_prefix(std::min(length + 1, text.size()));
    }
  }

  void line(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos || text[begin] == '#') return;
    text.remove_prefix(begin);
    while (text.ends_with('\r') || text.ends_with(' ')) text.remove_suffix(1);
    for (const std::string_view word : {"export ", "declare -x "}) {
      if (text.starts_with(word)) return words(text.substr(word.size()));
    }
    if (text.starts_with("unset ")) {
      for (text.remove_prefix(6); !text.empty();) variables.erase(shell_word(text));
      return;
    }
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || !is_name(text.substr(0, equals))) return;
    std::string_view value = text.substr(equals + 1);
    // A dump has the value as it is, and a script in quotes.
    const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'');
    variables[std::string(text.substr(0, equals))] = quoted ? shell_word(value) : std::string(value);
  }

  void words(std::string_view text) {
    while (!text.empty()) {
      if (text.front() == '#') return;
      const std::string word = shell_word(text);
      const auto equals = word.find('=');
      if (equals != std::string::npos && is_name(word.substr(0, equals))) {
        variables[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
  }
};

void keep_nccl(const std::map<std::string, std::string>& all, JobEnvironment& environment) {
  for (const auto& [name, value] : all) {
    if (!name.starts_with(kPrefix)) continue;
    if (made_elsewhere(value)) {
      environment.unknown.push_back(name);
    } else {
      environment.variables[name] = value;
    }
  }
}

std::string text_at(const std::map<std::string, std::string>& variables, const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() || made_elsewhere(found->second) ? std::string() : found->second;
}

// The containers that have GPUs; variables of all of them, of equal names the first.
void read_containers(const Json& pod, JobEnvironment& environment) {
  std::map<std::string, std::string> all;
  for (const Json& container : list(field(pod, "spec"), foreign("containers"))) {
    for (const Json& variable : list(container, "env")) {
      const std::string name = string_of(field(variable, "name"));
      if (!name.starts_with(kPrefix)) continue;
      // "$(NAME)" and valueFrom are filled in on the node.
      if (field(variable, "value").is_string()) {
        all.emplace(name, string_of(field(variable, "value")));
      } else if (!field(variable, foreign("valueFrom")).is_null()) {
        all.emplace(name, "$");
      }
    }
    if (!list(container, foreign("envFrom")).empty()) environment.unknown.emplace_back("*");
  }
  keep_nccl(all, environment);
}

}  // namespace

std::string JobEnvironment::value(const std::string& name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

bool JobEnvironment::knows(const std::string& name) const {
  if (has(name)) return true;
  return std::ranges::none_of(unknown, [&](const std::string& one) { return one == name || one == "*"; });
}

void read_environment(const SiteFile& file, JobList<JobEnvironment>& environments) {
  const EnvironmentText text(file.text);
  JobEnvironment environment;
  const std::string told = text_at(text.variables, "SLURM_JOB_ID");
  const bool is_id = told.find_first_not_of("0123456789_+") == std::string::npos;  // it goes into a command line
  const std::string id = is_id ? told : std::string();
  environment.job = id.empty() ? file.name : "job " + id;
  environment.command = id.empty() ? command_for_file(file.path) : command_for_job(id);
  if (auto nodes = fabric::expand_hostlist(text_at(text.variables, "SLURM_JOB_NODELIST")); nodes && !nodes->empty()) {
    environment.hosts = std::move(*nodes);
    environment.host_count = environment.hosts.size();
  } else if (const std::string host = text_at(text.variables, "HOSTNAME"); !host.empty()) {
    environment.hosts = {host};
  }
  environment.whole = text.variables.contains("PATH") || text.variables.contains("HOSTNAME");
  keep_nccl(text.variables, environment);
  environments.jobs.push_back(std::move(environment));
}

void read_pod_environments(const SiteFile& file, JobList<JobEnvironment>& environments) {
  const Json document = value_or_fail(parse_json(file.text, file.name));
  std::map<std::tuple<std::string, std::map<std::string, std::string>, std::vector<std::string>>, std::size_t> known;
  std::map<std::string, std::set<std::string>> hosts_of_job;
  for (const Json& pod : list(document, "items")) {
    const std::uint32_t gpus = gpus_of_pod(pod);
    if (gpus == 0 || field(field(pod, "status"), "phase") != "Running") continue;
    const Json& metadata = field(pod, foreign("metadata"));
    const std::string space = string_of(field(metadata, foreign("namespace")));
    JobEnvironment environment;
    environment.job = space + "/" + owner_of_pod(metadata);
    environment.gpus_per_host = gpus;
    environment.whole = true;
    environment.command = "kubectl exec -n " + shell_quoted(space) + " " +
                          shell_quoted(string_of(field(metadata, "name"))) + " -- env | grep ^NCCL_";
    read_containers(pod, environment);
    auto [at, added] =
        known.try_emplace({environment.job, environment.variables, environment.unknown}, environments.jobs.size());
    if (added && environments.jobs.size() >= kMaxEnvironments) {
      environments.leave_out(file.name + ": more than 100,000 different environments");
      return;
    }
    if (added) environments.jobs.push_back(std::move(environment));
    auto& hosts = environments.jobs[at->second].hosts;
    const std::string node = string_of(field(field(pod, "spec"), foreign("nodeName")));
    if (node.empty()) continue;
    if (std::ranges::find(hosts, node) == hosts.end()) hosts.push_back(node);
    hosts_of_job[environments.jobs[at->second].job].insert(node);
  }
  for (const auto& [key, at] : known) {
    environments.jobs[at].host_count = hosts_of_job[environments.jobs[at].job].size();
  }
}

void join_running(const std::vector<RunningJob>& running, std::vector<JobEnvironment>& environments) {
  std::map<std::string, const RunningJob*> by_id;
  for (const RunningJob& job : running) by_id.emplace("job " + job.id, &job);
  for (JobEnvironment& environment : environments) {
    const auto found = by_id.find(environment.job);
    if (found == by_id.end()) continue;
    const RunningJob& job = *found->second;
    if (environment.hosts.size() < job.hosts.size()) environment.hosts = job.hosts;
    environment.host_count = environment.hosts.size();
    if (environment.gpus_per_host == 0 && !job.hosts.empty()) {
      environment.gpus_per_host = static_cast<std::uint32_t>(job.gpus / job.hosts.size());
    }
  }
}

}  // namespace railweave::cli
