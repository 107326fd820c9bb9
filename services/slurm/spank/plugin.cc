// railweave_spank.so: options of sbatch, salloc and srun that say how a job is parallel, and for the steps of a placed job the
// order of its ranks and NCCL's variables. It speaks to slurmctld once for each srun inside of an allocation and to nothing
// else; where anything is not as expected, the step runs as without it. Each callback is on one thread of its process.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

extern "C" {
#include <slurm/slurm.h>
#include <slurm/spank.h>
}

#include "fabric/formats/slurm/hostlist.h"
#include "services/slurm/ranks/admin_comment.h"
#include "services/slurm/ranks/rank_text.h"
#include "services/slurm/ranks/step_command.h"

#define RAILWEAVE_EXPORT extern "C" __attribute__((visibility("default")))

RAILWEAVE_EXPORT const char plugin_name[] = "railweave";
RAILWEAVE_EXPORT const char plugin_type[] = "spank";
RAILWEAVE_EXPORT const unsigned int plugin_version = SLURM_VERSION_NUMBER;
RAILWEAVE_EXPORT const unsigned int spank_plugin_version = 1;

namespace {

using namespace railweave;

enum class Takes : std::uint8_t { nothing, number, name, taint };
struct Choice {
  const char *option, *word, *argument, *usage;
  Takes takes;
};
// Words of the job's comment, as railweave-slurm reads them.
constexpr std::array<Choice, 11> kChoices{
    {{"railweave-tp", "tp", "N", "ranks of a tensor-parallel group", Takes::number},
     {"railweave-pp", "pp", "N", "pipeline stages", Takes::number},
     {"railweave-dp", "dp", "N", "data-parallel ranks", Takes::number},
     {"railweave-ep", "ep", "N", "ranks of an expert-parallel group", Takes::number},
     {"railweave-cp", "cp", "N", "ranks of a context-parallel group", Takes::number},
     {"railweave-qos", "class", "NAME", "class of traffic, of the tenant's contract", Takes::name},
     {"railweave-guarantee", "guarantee", "GBPS", "bandwidth guaranteed to each port, in Gb/s", Takes::number},
     {"railweave-level", "level", "LEVEL", "what must hold the whole job: nvlinkDomain, rack, leafGroup, pod, cluster",
      Takes::name},
     {"railweave-priority", "priority", "CLASS", "priority class in Railweave", Takes::name},
     {"railweave-tolerate", "tolerate", "KEY[=VALUE]", "taint of nodes that the job tolerates", Takes::taint},
     {"railweave-checkpointable", "checkpointable", nullptr, "it may move: it goes on from what it saved when requeued",
      Takes::nothing}}};

constexpr const char* kRanksVariable = "SLURM_RAILWEAVE_RANKS";  // SLURM_: reaches tasks with --export=NONE, too
constexpr std::size_t kMaxText = 120'000;                        // the kernel takes 128 KiB of one variable

std::array<std::string, kChoices.size()> chosen;  // words; "": not given

bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return c == '-' || c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  });
}

const char* meaning_of(Takes takes) {
  switch (takes) {
    case Takes::number:
      return "a number from 1 on";
    case Takes::taint:
      return "the key of a taint, or KEY=VALUE";
    case Takes::name:
    case Takes::nothing:
      break;
  }
  return "a name";
}

bool fits(Takes takes, std::string_view value) {
  const auto equals = value.find('=');
  if (takes == Takes::taint && equals != std::string_view::npos)
    return is_plain(value.substr(0, equals)) && is_plain(value.substr(equals + 1));
  if (takes == Takes::number && (value.find_first_not_of("0123456789") != std::string_view::npos || value == "0"))
    return false;
  return is_plain(value);
}

int take_option(int index, const char* argument, int /*remote*/) {
  const Choice& choice = kChoices.at(static_cast<std::size_t>(index));
  std::string word = choice.word;
  if (choice.takes != Takes::nothing) {
    const std::string_view value = argument == nullptr ? "" : argument;
    if (!fits(choice.takes, value)) {
      slurm_error("railweave: --%s takes %s: %s", choice.option, meaning_of(choice.takes), choice.usage);
      return -1;
    }
    word.append("=").append(value);
  }
  chosen.at(static_cast<std::size_t>(index)) = std::move(word);
  return 0;
}

void register_options(spank_t spank) {
  for (std::size_t i = 0; i < kChoices.size(); ++i) {
    // Slurm copies the texts and does not change them.
    spank_option option{const_cast<char*>(kChoices[i].option),    // NOLINT(cppcoreguidelines-pro-type-const-cast)
                        const_cast<char*>(kChoices[i].argument),  // NOLINT(cppcoreguidelines-pro-type-const-cast)
                        const_cast<char*>(kChoices[i].usage),     // NOLINT(cppcoreguidelines-pro-type-const-cast)
                        kChoices[i].takes == Takes::nothing ? 0 : 1, static_cast<int>(i), take_option};
    spank_option_register(spank, &option);
  }
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

// The job's ranks, from its AdminComment; "" where it was not placed, or runs elsewhere.
std::string ranks_of(std::uint32_t job) {
  job_info_msg_t* found = nullptr;
  std::string comment;
  if (slurm_load_job(&found, job, SHOW_ALL) != SLURM_SUCCESS) return comment;
  for (std::uint32_t i = 0; i < found->record_count; ++i) {
    const job_info_t& record = found->job_array[i];
    if (record.job_id != job || record.admin_comment == nullptr || record.nodes == nullptr) continue;
    const auto ranks = slurm::read_job_ranks(record.admin_comment);
    const auto nodes = fabric::expand_hostlist(record.nodes);
    if (ranks && nodes && sorted(ranks->nodes) == sorted(*nodes))
      comment = slurm::split_admin_comment(record.admin_comment).mark;
  }
  slurm_free_job_info_msg(found);
  return comment;
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// SLURM_HOSTFILE in memory, so that there is no file to remove.
bool set_host_file(const std::string& text) {
  const int file = ::memfd_create("railweave-hosts", MFD_CLOEXEC);
  if (file < 0) return false;
  if (::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::close(file);
    return false;
  }
  ::setenv("SLURM_HOSTFILE", ("/proc/self/fd/" + std::to_string(file)).c_str(), 1);
  ::setenv("SLURM_DISTRIBUTION", "arbitrary", 1);
  return true;
}

// In srun, before it reads its options: the order of the tasks, and what they are to know.
void prepare_step() {
  ::unsetenv(kRanksVariable);
  const char* wanted = std::getenv("RAILWEAVE_RANKS");
  const char* job = std::getenv("SLURM_JOB_ID");
  if (job == nullptr || (wanted != nullptr && std::string_view(wanted) == "off")) return;
  const std::string comment = ranks_of(static_cast<std::uint32_t>(std::strtoul(job, nullptr, 10)));
  if (comment.empty() || comment.size() > kMaxText) return;
  const auto ranks = slurm::read_job_ranks(comment);
  if (!ranks) return;
  ::setenv(kRanksVariable, comment.c_str(), 1);
  const std::vector<std::string> words = own_arguments();
  const std::vector<std::string_view> arguments(words.begin(), words.end());
  const auto command =
      slurm::read_step_command(arguments, [](const char* name) { return std::getenv(name); }, ranks->nodes.size());
  if (command.chosen || !command.tasks) return;
  const std::string hosts = slurm::host_file(*ranks, *command.tasks);
  if (hosts.empty()) {
    slurm_verbose("railweave: %llu tasks are neither one for each rank nor one for each node: Slurm orders them",
                  static_cast<unsigned long long>(*command.tasks));
    return;
  }
  if (!set_host_file(hosts)) slurm_error("railweave: no memory for the order of tasks: Slurm orders them");
}

std::string variable_of(spank_t spank, const char* name) {
  std::string value(131'072, '\0');
  if (spank_getenv(spank, name, value.data(), static_cast<int>(value.size())) != ESPANK_SUCCESS) return {};
  value.resize(value.find('\0'));
  return value;
}

std::string gpu_list(const std::vector<unsigned>& gpus) {
  std::string text;
  for (const unsigned gpu : gpus) text += (text.empty() ? "" : ",") + std::to_string(gpu);
  return text;
}

// The same GPUs as Slurm gave, in the order of local ranks; else Slurm's stay.
void order_gpus(spank_t spank, const std::vector<unsigned>& gpus) {
  const std::string wanted = gpu_list(gpus);
  const std::string given = variable_of(spank, "CUDA_VISIBLE_DEVICES");
  const auto letters = [](std::string text) {
    text += ',';
    std::vector<std::string> parts;
    for (std::size_t at = 0, end = 0; (end = text.find(',', at)) != std::string::npos; at = end + 1)
      parts.push_back(text.substr(at, end - at));
    return sorted(std::move(parts));
  };
  if (!gpus.empty() && (given.empty() || letters(given) == letters(wanted)))
    spank_setenv(spank, "CUDA_VISIBLE_DEVICES", wanted.c_str(), 1);
}

void set_task(spank_t spank) {
  const std::string text = variable_of(spank, kRanksVariable);
  if (text.empty()) return;
  spank_unsetenv(spank, kRanksVariable);
  if (variable_of(spank, "SLURM_HOSTFILE").starts_with("/proc/self/fd/")) {  // that of a srun which made it here
    spank_unsetenv(spank, "SLURM_HOSTFILE");
    spank_unsetenv(spank, "SLURM_DISTRIBUTION");
  }
  const auto ranks = slurm::read_job_ranks(text);
  const std::string node = variable_of(spank, "SLURMD_NODENAME");
  if (!ranks) return;
  const auto at = std::ranges::find(ranks->nodes, node);
  if (at == ranks->nodes.end()) return;
  const auto set = [&](const std::string& name, const std::string& value) {
    spank_setenv(spank, name.c_str(), value.c_str(), 1);
  };
  set("RAILWEAVE_JOB", ranks->placement);
  set("RAILWEAVE_NODE", node);
  for (const auto& [name, value] : ranks->common) set(name, value);
  if (!ranks->settings.empty()) {
    const auto& own = ranks->settings.at(static_cast<std::size_t>(at - ranks->nodes.begin()));
    for (const auto& [name, value] : own.only) set(name, value);
    set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    order_gpus(spank, own.gpus);
  }
  // Where the user says nothing else: rank 0's node, and a port that two jobs hardly share.
  std::uint32_t job = 0;
  spank_setenv(spank, "MASTER_ADDR", ranks->nodes.front().c_str(), 0);
  if (spank_get_item(spank, S_JOB_ID, &job) == ESPANK_SUCCESS)
    spank_setenv(spank, "MASTER_PORT", std::to_string(20'000 + job % 10'000).c_str(), 0);
  std::uint32_t rank = 0;
  std::uint32_t tasks = 0;
  if (spank_get_item(spank, S_TASK_GLOBAL_ID, &rank) != ESPANK_SUCCESS) return;
  if (spank_get_item(spank, S_JOB_TOTAL_TASK_COUNT, &tasks) != ESPANK_SUCCESS) return;
  if (tasks != ranks->node_of.size()) return;
  const auto local = variable_of(spank, "SLURM_LOCALID");
  set("RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(tasks));
  if (!local.empty()) set("LOCAL_RANK", local);
}

// Slurm is C: nothing is thrown into it, and a step never fails because of this plugin.
template <class What>
int guarded(What&& what) noexcept {
  try {
    what();
  } catch (const std::exception& error) {
    slurm_error("railweave: %s", error.what());
  }
  return ESPANK_SUCCESS;
}

}  // namespace

RAILWEAVE_EXPORT int slurm_spank_init(spank_t spank, int /*ac*/, char* /*av*/[]) {
  return guarded([&] {
    const spank_context_t context = spank_context();
    if (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR || context == S_CTX_REMOTE) register_options(spank);
    if (context == S_CTX_LOCAL) prepare_step();
  });
}

// job_submit.lua, in slurmctld, reads it from the job's environment of prologs and makes it part of the comment.
RAILWEAVE_EXPORT int slurm_spank_init_post_opt(spank_t spank, int /*ac*/, char* /*av*/[]) {
  return guarded([&] {
    const spank_context_t context = spank_context();
    if (context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR) return;
    std::string words;
    for (const std::string& word : chosen) {
      if (!word.empty()) words += (words.empty() ? "" : " ") + word;
    }
    if (!words.empty()) spank_job_control_setenv(spank, "RAILWEAVE", words.c_str(), 1);
  });
}

RAILWEAVE_EXPORT int slurm_spank_task_init(spank_t spank, int /*ac*/, char* /*av*/[]) {
  return guarded([&] { set_task(spank); });
}
