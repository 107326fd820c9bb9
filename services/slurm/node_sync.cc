#include "services/slurm/node_sync.h"

#include <fmt/core.h>

#include "services/railweave/terminal/command_failure.h"

namespace railweave::slurm {
namespace {

using cli::Target;
using Kind = NodeChange::Kind;

constexpr std::size_t kMaxReasonText = 200;

bool out_of_use(std::string_view state) {
  for (const std::string_view word : {"down", "drain", "fail", "inval"}) {
    if (state.contains(word)) return true;
  }
  return false;
}

bool begins(std::string_view text, std::string_view words) {
  return text.starts_with(words.substr(0, words.size() - 1));
}

// What Slurm is to know of Railweave's side; "" for nothing.
std::string trouble_for_slurm(const NodeLook& node) {
  if (node.drained && !begins(node.drain_reason, kFromSlurm))
    return std::string(kFromRailweave) + (node.drain_reason.empty() ? "drained" : node.drain_reason);
  if (node.link_down) return std::string(kFromRailweave) + "a link of its GPUs is down or drained";
  if (node.cut_off) return std::string(kFromRailweave) + "no links in use join it to the rest of its fabric";
  return {};
}

std::string trouble_for_railweave(const NodeLook& node) {
  if (!out_of_use(node.slurm_state) || begins(node.slurm_reason, kFromRailweave)) return {};
  return fmt::format("{}{}{}", kFromSlurm, node.slurm_state,
                     node.slurm_reason.empty() || node.slurm_reason == "none" ? "" : ", " + node.slurm_reason);
}

std::string cut(const std::string& text) {
  std::string plain;
  for (const char c : text.substr(0, kMaxReasonText)) plain += c < ' ' || c == '"' || c == 0x7F ? ' ' : c;
  return plain;
}

}  // namespace

std::vector<NodeChange> NodePlan::next(const std::map<std::string, NodeLook>& nodes, std::int64_t now_s) {
  std::vector<NodeChange> changes;
  for (const auto& [name, node] : nodes) {
    if (!node.known || node.slurm_state.empty()) continue;
    const std::string to_slurm = trouble_for_slurm(node);
    const std::string to_railweave = trouble_for_railweave(node);
    // Out of use for reasons of their own on both sides: nothing to pass on.
    const bool both = !to_slurm.empty() && !to_railweave.empty();
    const std::string trouble = both ? "both" : to_slurm + to_railweave;
    Memory& memory = memory_[name];
    if (memory.seen_s < 0 || memory.trouble.empty() != trouble.empty()) {
      memory.since_s = now_s;
      memory.passed_on = false;
    }
    memory.trouble = trouble;
    memory.seen_s = now_s;
    if (both || changes.size() == patience_.most) continue;
    const std::int64_t lasted = now_s - memory.since_s;
    if (!to_slurm.empty() && !out_of_use(node.slurm_state) && lasted >= patience_.trouble_s && !memory.passed_on) {
      changes.push_back({Kind::drain_in_slurm, name, cut(to_slurm)});
      memory.passed_on = true;
    } else if (!to_railweave.empty() && !node.drained && lasted >= patience_.trouble_s && !memory.passed_on) {
      changes.push_back({Kind::drain_in_railweave, name, cut(to_railweave)});
      memory.passed_on = true;
    } else if (trouble.empty() && node.drained && begins(node.drain_reason, kFromSlurm)) {
      // Slurm has it in use, and begins jobs there at once.
      changes.push_back({Kind::undrain_in_railweave, name, {}});
    } else if (trouble.empty() && lasted >= patience_.calm_s && node.slurm_state.starts_with("drain") &&
               begins(node.slurm_reason, kFromRailweave)) {
      changes.push_back({Kind::resume_in_slurm, name, {}});
    }
  }
  std::erase_if(memory_, [&](const auto& entry) { return entry.second.seen_s != now_s; });
  return changes;
}

void NodeSync::look(std::int64_t now_s) {
  for (const NodeChange& change : plan_.next(read(), now_s)) apply(change);
}

std::map<std::string, NodeLook> NodeSync::read() {
  std::map<std::string, NodeLook> nodes;
  service_.each_item(
      Target("/v1/nodes").query("fields", "id,drained,state"), 0,
      [&](const cli::Json& node) {
        NodeLook& look = nodes[cli::text_of(node, "id")];
        look.known = true;
        look.drained = cli::flag_of(node, "drained");
        look.link_down = cli::text_of(node, "state") == "linkDown";
        look.cut_off = cli::text_of(node, "state") == "cutOff";
      },
      [&] { nodes.clear(); });
  service_.each_item(
      Target("/v1/drains").query("kind", "node"), 0,
      [&](const cli::Json& drain) {
        const auto at = nodes.find(cli::text_of(drain, "id"));
        if (at != nodes.end()) at->second.drain_reason = cli::text_of(drain, "reason");
      },
      [] {});
  for (SlurmNodeState& state : cli::value_or_fail(slurm_.node_states())) {
    NodeLook& look = nodes[state.name];
    look.slurm_state = std::move(state.state);
    look.slurm_reason = std::move(state.reason);
  }
  return nodes;
}

void NodeSync::apply(const NodeChange& change) {
  if (change.kind == Kind::drain_in_slurm || change.kind == Kind::resume_in_slurm) {
    const bool drains = change.kind == Kind::drain_in_slurm;
    const auto done = slurm_.set_node(change.node, drains ? "DRAIN" : "RESUME", change.reason);
    say_("node " + change.node + (drains ? " is drained in Slurm: " + change.reason : " is resumed in Slurm") +
         (done ? "" : "; Slurm refuses: " + done.error().text()));
    return;
  }
  const bool drains = change.kind == Kind::drain_in_railweave;
  service_.post(Target("/v1/nodes").segment(change.node).path(drains ? "/drain" : "/undrain"),
                {{"reason", drains ? change.reason : "in use again in Slurm"}});
  say_("node " + change.node +
       (drains ? " is drained in Railweave: " + change.reason : " is in use again in Railweave"));
}

}  // namespace railweave::slurm
