// What schedulers, clouds and machines say of a site's hosts: GPUs, groups of hosts that are near each other, NVLink
// domains. Sources that know no cables fill this; then it completes a fabric that dumps of cables gave, or is one by
// itself. Each fact keeps its source (labels "from/gpus", "from/tiers" and "from/nvlink" of the host); where two sources
// contradict each other the one that was read first counts, with a finding. Not thread-safe.
//
// A host is known by its name or by the part of it before the first dot, as far as that is one host's alone.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/units.h"
#include "fabric/topology/finding.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

struct HostFacts {
  std::string name;
  std::optional<unsigned> gpus;
  std::string product;                  // "NVIDIA-H100-80GB-HBM3"; empty: not known
  std::vector<std::string> tiers;       // the groups that it is in, nearest first: leaf, spine, core
  std::string zone;                     // counts where nothing tells tiers; empty: not known
  std::string domain;                   // hosts of one name share an NVLink domain
  bool nvlink_told = false;             // by what is read beside these facts: a label of the NVLink clique
  std::optional<RateMbps> nvlink_rate;  // of each GPU, one direction; 0: it has no NVLink
  std::string gpus_from, tiers_from, domain_from;
};

class SiteFacts {
 public:
  static constexpr std::size_t kMaxTiers = 8;
  static constexpr std::size_t kMaxLeftOut = 100;  // rows that are named, of each source

  // The source of the facts that follow: a file's name.
  void begin_source(std::string name);
  void add_host(std::string_view host) { (void)at(host); }
  void add_gpus(std::string_view host, unsigned count, std::string_view product = {});
  void add_tiers(std::string_view host, std::vector<std::string> tiers);
  void add_zone(std::string_view host, std::string_view zone);
  void add_domain(std::string_view host, std::string_view domain);
  void set_nvlink_told(std::string_view host) { at(host).nvlink_told = true; }
  // Of each GPU, one direction; 0: it has no NVLink. `short_of`: in words, its GPUs that have fewer links than others.
  void add_nvlinks(std::string_view host, RateMbps rate, const std::vector<std::string>& short_of);
  // Of hosts that no source tells it of.
  void assume_gpus(unsigned count, const std::string& source);
  // Something in the source that was not used, and why; `where` is a line, a row or a field.
  void leave_out(const std::string& where, const std::string& why);
  // "topology.conf: line 3: ..."; empty: everything was used.
  [[nodiscard]] std::string first_left_out() const;

  [[nodiscard]] bool empty() const { return hosts_.empty(); }
  [[nodiscard]] const std::vector<HostFacts>& hosts() const { return hosts_; }  // in the order of the sources
  [[nodiscard]] const HostFacts* find(std::string_view host) const;
  [[nodiscard]] std::size_t over_limit() const {
    return hosts_.size() > TopologyBuilder::kMaxHosts ? hosts_.size() : 0;
  }

  // Adds all to the builder. Where it has no switch, hosts and their groups become the fabric: every group a switch with
  // links of assumed rates (tier_switches.h). Where it has some, hosts that no cable knows are left out.
  // Findings: sourcesDisagree, hostNotCabled, rowsLeftOut, nvlinkAssumed, nvlinksDown, and those of tier_switches.h. Error: tooLarge.
  Result<void> move_into(TopologyBuilder& builder);

 private:
  struct LeftOut {
    std::size_t count = 0;
    std::vector<std::string> objects;
  };
  using Disagreement = std::pair<std::string, std::pair<std::string, std::string>>;  // what, first source, other source

  HostFacts& at(std::string_view host);
  [[nodiscard]] std::size_t index_of(std::string_view host) const;
  void disagree(const std::string& what, const std::string& first, const std::string& host, const std::string& values);
  void complete_products();
  void add_findings(TopologyBuilder& builder);
  void give_gpus(TopologyBuilder& builder, HostDraft host, const HostFacts& facts, std::vector<std::string>& assumed);

  std::vector<HostFacts> hosts_;
  std::unordered_map<std::string, std::size_t> by_name_, by_short_name_;
  std::string source_;
  std::vector<std::string> nvlinks_down_;
  std::map<std::string, LeftOut> left_out_;                                                 // by source
  std::map<Disagreement, std::pair<std::string, std::vector<std::string>>> disagreements_;  // an example, and hosts
};

// Groups of the facts whose hosts the cabling puts under different leaves: what schedules by these groups crosses more
// switches than it believes. Findings: groupNotNear.
std::vector<Finding> compare_with_cabling(const SiteFacts& facts, const Topology& topology);

}  // namespace railweave::fabric
