#include "services/slurm/ranks/step_command.h"

#include <algorithm>
#include <array>

#include "fabric/base/whole_number.h"

namespace railweave::slurm {
namespace {

// Options that are followed by no value of their own; of the others one that has no "=" takes the next word.
constexpr std::array<std::string_view, 29> kFlags{"compress",
                                                  "contiguous",
                                                  "disable-status",
                                                  "exact",
                                                  "exclusive",
                                                  "help",
                                                  "hold",
                                                  "immediate",
                                                  "kill-on-bad-exit",
                                                  "label",
                                                  "multi-prog",
                                                  "nice",
                                                  "no-allocate",
                                                  "no-kill",
                                                  "overcommit",
                                                  "overlap",
                                                  "oversubscribe",
                                                  "preserve-env",
                                                  "propagate",
                                                  "pty",
                                                  "quiet",
                                                  "quit-on-interrupt",
                                                  "reboot",
                                                  "resv-ports",
                                                  "send-libs",
                                                  "spread-job",
                                                  "unbuffered",
                                                  "use-min-nodes",
                                                  "verbose"};
constexpr std::string_view kShortFlags = "EHIKOQXZhklsuvV";
// With these the step's nodes or order are chosen, or depend on more than is read here.
constexpr std::array<std::string_view, 17> kChoices{"nodes",
                                                    "nodelist",
                                                    "nodefile",
                                                    "exclude",
                                                    "distribution",
                                                    "relative",
                                                    "jobid",
                                                    "het-group",
                                                    "gpus",
                                                    "gpus-per-task",
                                                    "ntasks-per-gpu",
                                                    "ntasks-per-core",
                                                    "ntasks-per-socket",
                                                    "external-launcher",
                                                    "spread-job",
                                                    "use-min-nodes",
                                                    "no-allocate"};
constexpr std::string_view kShortChoices = "NwFxmrGZ";

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

std::optional<std::uint64_t> count(std::string_view text) {
  const auto value = whole_number<std::uint64_t>(text);
  return value == 0U ? std::nullopt : value;
}

struct Reading {
  std::span<const std::string_view> rest;
  std::optional<std::string_view> tasks, per_node;
  bool chosen = false;

  std::string_view next() {
    if (rest.empty()) return {};
    const std::string_view word = rest.front();
    rest = rest.subspan(1);
    return word;
  }

  void read_long(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    chosen = chosen || holds(kChoices, name);
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (!holds(kFlags, name)) {
      value = next();
    }
    if (name == "ntasks") tasks = value;
    if (name == "ntasks-per-node" || name == "tasks-per-node") per_node = value;
  }

  void read_short(std::string_view letters) {  // "-lun8", "-n 8"
    while (!letters.empty()) {
      const char letter = letters.front();
      letters.remove_prefix(1);
      chosen = chosen || kShortChoices.contains(letter);
      if (kShortFlags.contains(letter)) {
        if (letter == 'I' || letter == 'K') return;  // the rest is its value
        continue;
      }
      const std::string_view value = letters.empty() ? next() : letters;
      if (letter == 'n') tasks = value;
      return;
    }
  }
};

std::optional<std::string_view> variable(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = environment(name); value != nullptr) return value;
  }
  return std::nullopt;
}

}  // namespace

StepCommand read_step_command(std::span<const std::string_view> arguments, const Environment& environment,
                              std::uint64_t nodes) {
  Reading reading{.rest = arguments.empty() ? arguments : arguments.subspan(1)};
  while (!reading.rest.empty() && reading.rest.front().starts_with('-') && reading.rest.front() != "--") {
    const std::string_view word = reading.next();
    word.starts_with("--") ? reading.read_long(word.substr(2)) : reading.read_short(word.substr(1));
  }
  if (holds(reading.rest, ":")) reading.chosen = true;  // several components
  StepCommand command{.chosen = reading.chosen};
  for (const char* name : {"SLURM_HOSTFILE", "SLURM_DISTRIBUTION", "SLURM_HET_SIZE", "SLURM_STEP_NUM_NODES",
                           "SLURM_NTASKS_PER_GPU", "SLURM_GPUS_PER_TASK"})
    command.chosen = command.chosen || environment(name) != nullptr;
  if (command.chosen) return command;
  if (!reading.tasks && !reading.per_node) {
    reading.tasks = variable(environment, {"SLURM_NTASKS", "SLURM_NPROCS"});
    reading.per_node = variable(environment, {"SLURM_NTASKS_PER_NODE"});
  }
  if (reading.tasks) {
    command.tasks = count(*reading.tasks);
  } else if (reading.per_node) {
    if (const auto each = count(*reading.per_node)) command.tasks = *each * nodes;
  } else {
    command.tasks = nodes;
  }
  return command;
}

std::string host_file(const JobRanks& ranks, std::uint64_t tasks) {
  std::string text;
  if (tasks == ranks.node_of.size()) {
    for (const std::uint32_t node : ranks.node_of) text += ranks.nodes[node] + "\n";
  } else if (tasks == ranks.nodes.size()) {
    for (const std::string& node : ranks.nodes) text += node + "\n";
  }
  return text;
}

}  // namespace railweave::slurm
