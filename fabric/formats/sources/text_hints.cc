#include "fabric/formats/sources/text_hints.h"

#include <array>

namespace railweave::fabric {
namespace {

struct Hint {
  std::string_view begins, has, text;
};

constexpr auto kHints = std::to_array<Hint>({
    {"NodeName=", " Arch=", "it is the text of scontrol show nodes: give it with --json"},
    {"NodeName=", "", "it is a part of slurm.conf: give the output of scontrol show nodes --json"},
    {"JobId=", " JobName=", "it is the text of scontrol show job: give squeue --json"},
    {"JOBID ", "NODELIST", "it is the table of squeue: give it with --json"},
    {"PARTITION ", "NODELIST", "it is the table of sinfo: give scontrol show nodes --json"},
    {"JobID ", "State", "it is the table of sacct: give it with -P, or --json"},
    {"JobID,", "", "it is a table of sacct with commas: give it with -P, which puts bars between columns"},
    {"NAME ", "STATUS", "it is the table of kubectl: give it with -o json"},
    {"NAMESPACE ", "STATUS", "it is the table of kubectl: give it with -o json"},
    {"LocalPort ", "Remote",
     "it is the table of SONiC's show lldp: give sonic-db-dump -n APPL_DB -y, or lldpctl -f json"},
    {"LLDP neighbors:", "", "it is the text of lldpctl: give it with -f json"},
    {"Interface ", "Lanes", "it is the table of SONiC's show interfaces: give the switch's config_db.json"},
    {"==============NVSMI LOG", "", "it is the text of nvidia-smi -q: give it with -x"},
    {"| NVIDIA-SMI ", "", "it is the table of nvidia-smi: give nvidia-smi -q -x"},
    {"GPU 0: ", "UUID", "it is nvidia-smi -L: give nvidia-smi -q -x"},
    {"CA '", "", "it is ibstat, which tells of one host: give ibnetdiscover"},
});

}  // namespace

std::string_view hint_of_line(std::string_view line) {
  for (const Hint& hint : kHints) {
    if (line.starts_with(hint.begins) && line.find(hint.has) != std::string_view::npos) return hint.text;
  }
  return {};
}

}  // namespace railweave::fabric
