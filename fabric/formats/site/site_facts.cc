#include "fabric/formats/site/site_facts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "fabric/base/plural.h"
#include "fabric/base/units.h"
#include "fabric/formats/site/tier_switches.h"
#include "fabric/formats/text/name_text.h"
#include "fabric/topology/locality.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kNoHost = SIZE_MAX;

// Of a GPU into its domain, one direction, by the product; of others as attach_gpus() assumes.
RateMbps nvlink_rate(std::string_view product) {
  constexpr std::int64_t kHopper = 3600, kBlackwell = 7200, kAmpere = 2400;
  const auto named = [&](std::string_view word) { return product.find(word) != std::string_view::npos; };
  if (named("B200") || named("B300") || named("b200") || named("b300")) return from_gbps(kBlackwell);
  return from_gbps(named("A100") || named("a100") ? kAmpere : kHopper);
}

std::string short_name(std::string_view host) {
  const bool address = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return std::string(address ? host : host.substr(0, host.find('.')));
}

std::string joined_names(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, " < ")); }

void add_bounded(std::vector<std::string>& objects, const std::string& object) {
  if (objects.size() < kMaxFindingObjects) objects.push_back(object);
}

}  // namespace

void SiteFacts::begin_source(std::string name) { source_ = std::move(name); }

std::size_t SiteFacts::index_of(std::string_view host) const {
  if (const auto exact = by_name_.find(std::string(host)); exact != by_name_.end()) return exact->second;
  const auto brief = by_short_name_.find(short_name(host));
  if (brief == by_short_name_.end() || brief->second == kNoHost) return kNoHost;
  // "a.x" and "a.y" are two hosts; "a" and "a.x" are one.
  const bool both_long = hosts_[brief->second].name.find('.') != std::string::npos && short_name(host) != host;
  return both_long ? kNoHost : brief->second;
}

HostFacts& SiteFacts::at(std::string_view host) {
  if (const std::size_t known = index_of(host); known != kNoHost) return hosts_[known];
  const std::string name = is_clean_name(host) ? std::string(host) : escaped_name(host);
  by_name_.emplace(std::string(host), hosts_.size());
  const auto [brief, is_new] = by_short_name_.try_emplace(short_name(host), hosts_.size());
  if (!is_new) brief->second = kNoHost;
  HostFacts facts;
  facts.name = name;
  hosts_.push_back(std::move(facts));
  return hosts_.back();
}

const HostFacts* SiteFacts::find(std::string_view host) const {
  const std::size_t index = index_of(host);
  return index == kNoHost ? nullptr : &hosts_[index];
}

void SiteFacts::disagree(const std::string& what, const std::string& first, const std::string& host,
                         const std::string& values) {
  auto& [example, hosts] = disagreements_[{what, {first, source_}}];
  if (hosts.empty()) example = values;
  add_bounded(hosts, host);
}

void SiteFacts::add_gpus(std::string_view host, unsigned count, std::string_view product) {
  HostFacts& facts = at(host);
  if (count > TopologyBuilder::kMaxGpusPerHost) return leave_out(facts.name, "more than 64 GPUs in one host");
  if (facts.gpus && *facts.gpus != count) {
    disagree("GPUs", facts.gpus_from, facts.name, fmt::format("{} and {}", *facts.gpus, count));
  } else if (!facts.gpus) {
    facts.gpus = count;
    facts.gpus_from = source_;
  }
  if (facts.product.empty() && is_clean_name(product)) facts.product = product;
}

void SiteFacts::add_tiers(std::string_view host, std::vector<std::string> tiers) {
  if (tiers.empty()) return;
  HostFacts& facts = at(host);
  if (tiers.size() > kMaxTiers) return leave_out(facts.name, "more than 8 tiers");
  for (std::string& tier : tiers) tier = escaped_name(tier);
  if (!facts.tiers.empty() && facts.tiers.front() != tiers.front()) {
    // Another source may well call a group otherwise: whether the groups differ is looked at as a whole.
    disagree("nearest groups", facts.tiers_from, facts.name, joined_names(facts.tiers) + " and " + joined_names(tiers));
  } else if (tiers.size() > facts.tiers.size()) {
    facts.tiers = std::move(tiers);
    facts.tiers_from = source_;
  }
}

void SiteFacts::add_zone(std::string_view host, std::string_view zone) {
  HostFacts& facts = at(host);
  if (facts.zone.empty()) facts.zone = escaped_name(zone);
}

void SiteFacts::add_domain(std::string_view host, std::string_view domain) {
  if (domain.empty()) return;
  HostFacts& facts = at(host);
  const std::string name = escaped_name(domain);
  if (!facts.domain.empty() && facts.domain != name) {
    disagree("NVLink domains", facts.domain_from, facts.name, facts.domain + " and " + name);
  } else if (facts.domain.empty()) {
    facts.domain = name;
    facts.domain_from = source_;
  }
}

void SiteFacts::add_nvlinks(std::string_view host, RateMbps rate, const std::vector<std::string>& short_of) {
  HostFacts& facts = at(host);
  if (!facts.nvlink_rate) facts.nvlink_rate = rate;
  for (const std::string& gpu : short_of) nvlinks_down_.push_back(fmt::format("{}, {}", facts.name, gpu));
}

void SiteFacts::assume_gpus(unsigned count, const std::string& source) {
  for (HostFacts& facts : hosts_) {
    if (facts.gpus) continue;
    facts.gpus = count;
    facts.gpus_from = source;
  }
}

void SiteFacts::leave_out(const std::string& where, const std::string& why) {
  LeftOut& rows = left_out_[source_];
  if (++rows.count <= kMaxLeftOut) rows.objects.push_back(escaped_name(where + ": " + why));
}

std::string SiteFacts::first_left_out() const {
  for (const auto& [source, rows] : left_out_) return source + ": " + rows.objects.front();
  return {};
}

void SiteFacts::add_findings(TopologyBuilder& builder) {
  for (auto& [source, rows] : left_out_) {
    builder.add_finding({"rowsLeftOut", Severity::warning,
                         source + ": " + plural(rows.count, "row was", "rows were") +
                             " not used: " + rows.objects.front() + (rows.count > 1 ? ", and others" : ""),
                         rows.objects});
  }
  if (!nvlinks_down_.empty()) {
    const std::size_t count = nvlinks_down_.size();
    const std::string first = nvlinks_down_.front();
    nvlinks_down_.resize(std::min(count, kMaxFindingObjects));
    builder.add_finding({"nvlinksDown", Severity::warning,
                         fmt::format("{} fewer NVLinks up than others of the machine: {}{}",
                                     plural(count, "GPU has", "GPUs have"), first, count > 1 ? ", and others" : ""),
                         nvlinks_down_});
  }
  for (auto& [key, said] : disagreements_) {
    const auto& [first, second] = key.second;
    const bool alone = first == second;
    builder.add_finding({"sourcesDisagree", Severity::warning,
                         first + (alone ? " tells different things" : " and " + second + " contradict each other") +
                             " in the " + key.first + " of " + plural(said.second.size(), "host", "hosts") + " (" +
                             said.second.front() + ": " + said.first + "); " +
                             (alone ? "what it tells first counts" : first + " counts, as it was read first"),
                         said.second});
  }
}

void SiteFacts::give_gpus(TopologyBuilder& builder, HostDraft host, const HostFacts& facts,
                          std::vector<std::string>& assumed) {
  if (!facts.gpus) return;
  if (const std::size_t present = builder.gpu_count(host); present > 0) {
    if (present != *facts.gpus) {
      source_ = facts.gpus_from;
      disagree("GPUs", "the fabric", facts.name, fmt::format("{} and {}", present, *facts.gpus));
    }
    return;
  }
  if (*facts.gpus == 0) return;
  builder.add_label(host, "from/gpus", facts.gpus_from);
  if (!facts.product.empty()) builder.add_label(host, "gpu", facts.product);
  const std::string name(builder.name(host));
  if (facts.nvlink_rate == RateMbps()) {  // by its links, whatever a clique says
    for (unsigned g = 0; g < *facts.gpus; ++g) builder.add_gpu(host);
    return;
  }
  const bool shared = !facts.domain.empty();
  const DomainDraft domain =
      builder.nvlink_domain(shared ? facts.domain : name, {}, facts.nvlink_rate.value_or(nvlink_rate(facts.product)));
  for (unsigned g = 0; g < *facts.gpus; ++g) builder.set_nvlink_domain(builder.add_gpu(host), domain);
  if (shared) builder.add_label(host, "from/nvlink", facts.domain_from);
  if (!shared && !facts.nvlink_rate && !facts.nvlink_told) add_bounded(assumed, name);
}

// Where one product is known and others say nothing, all are taken for it: labels come late to new nodes.
void SiteFacts::complete_products() {
  std::set<std::string> products;
  for (const HostFacts& facts : hosts_) {
    if (!facts.product.empty()) products.insert(facts.product);
  }
  if (products.size() != 1) return;
  for (HostFacts& facts : hosts_) facts.product = *products.begin();
}

Result<void> SiteFacts::move_into(TopologyBuilder& builder) {
  if (over_limit() > 0) {
    return fail(ErrorKind::tooLarge, "fabric.tooLarge", fmt::format("{} hosts are more than supported", over_limit()));
  }
  const bool cabled = builder.switch_count() > 0;
  std::unordered_map<std::string, HostDraft> cabled_hosts;
  for (std::size_t i = 0; cabled && i < builder.host_count(); ++i) {
    const std::string_view name = builder.name(HostDraft(i));
    cabled_hosts.emplace(std::string(name), HostDraft(i));
    cabled_hosts.emplace(short_name(name), HostDraft(i));
  }
  std::vector<std::string> not_cabled, assumed;
  complete_products();
  for (const HostFacts& facts : hosts_) {
    HostDraft host;
    if (cabled) {
      auto found = cabled_hosts.find(facts.name);
      if (found == cabled_hosts.end()) found = cabled_hosts.find(short_name(facts.name));
      if (found == cabled_hosts.end()) {
        add_bounded(not_cabled, facts.name);
        continue;
      }
      host = found->second;
    } else {
      host = builder.host(facts.name);
    }
    if (facts.gpus.value_or(0) > 0) builder.set_kind(host, HostKind::compute);
    give_gpus(builder, host, facts, assumed);
    if (!facts.tiers.empty()) builder.add_label(host, "from/tiers", facts.tiers_from);
  }
  if (!cabled) add_tier_switches(hosts_, builder);
  if (!not_cabled.empty()) {
    builder.add_finding({"hostNotCabled", Severity::warning,
                         plural(not_cabled.size(), "host is", "hosts are") +
                             " known to a scheduler or a machine and to no cable, and left out: " + not_cabled.front() +
                             (not_cabled.size() > 1 ? ", and others" : ""),
                         not_cabled});
  }
  if (!assumed.empty()) {
    builder.add_finding({"nvlinkAssumed", Severity::info,
                         "no source tells of the NVLink of " + plural(assumed.size(), "host", "hosts") +
                             ": the GPUs of each are taken for one domain, at the rate of their product",
                         assumed});
  }
  add_findings(builder);
  return {};
}

std::vector<Finding> compare_with_cabling(const SiteFacts& facts, const Topology& topology) {
  const Locality locality = derive_locality(topology);
  const Level* leaves = locality.find(LevelKind::leaf_group);
  if (leaves == nullptr) return {};
  struct Group {
    std::string from;
    std::vector<HostId> hosts;
  };
  std::map<std::string, Group> groups;
  for (const HostFacts& host : facts.hosts()) {
    if (host.tiers.empty()) continue;
    HostId id = topology.find_host(host.name);
    if (!id) id = topology.find_host(short_name(host.name));
    if (!id) continue;
    Group& group = groups[host.tiers.front()];
    group.from = host.tiers_from;
    group.hosts.push_back(id);
  }
  std::vector<Finding> findings;
  for (const auto& [name, group] : groups) {
    const std::vector<HostId>& hosts = group.hosts;
    std::set<std::uint32_t> under;
    for (const HostId host : hosts) under.insert(leaves->group_of_host[host.index()]);
    if (under.size() < 2 || findings.size() >= SiteFacts::kMaxLeftOut) continue;
    std::vector<std::string> objects{name};
    for (const HostId host : hosts) add_bounded(objects, std::string(topology.name(host)));
    findings.push_back({"groupNotNear", Severity::warning,
                        fmt::format("{} is one group of {} hosts to {}, and by its cables {} leaf groups: jobs that "
                                    "are kept in it cross spines nevertheless",
                                    name, hosts.size(), group.from, under.size()),
                        std::move(objects)});
  }
  return findings;
}

}  // namespace railweave::fabric
