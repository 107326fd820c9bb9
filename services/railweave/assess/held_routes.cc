#include "services/railweave/assess/held_routes.h"

#include <algorithm>
#include <utility>

#include "fabric/formats/sources/source_kind.h"
#include "fabric/routing/opensm/opensm_dumps.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

using fabric::PlaneId;
using fabric::SourceKind;

std::vector<const SiteFile*> files_of(const std::vector<SiteFile>& files, SourceKind kind) {
  std::vector<const SiteFile*> found;
  for (const SiteFile& file : files) {
    if (file.recognised.kind == kind) found.push_back(&file);
  }
  return found;
}

// The caller's file in front of what is wrong with it.
CommandFailure blamed(Error error, const SiteFile& file) {
  error.location = file.name + (error.location.empty() ? "" : ", " + error.location);
  return CommandFailure(std::move(error));
}

class HeldReader {
 public:
  HeldReader(const std::vector<SiteFile>& files, const fabric::ForwardingTables& own)
      : files_(files), scope_(own.scope_ptr()), lists_(files_of(files, SourceKind::opensm_links)) {
    held_.tables = own;
    held_.told.resize(scope_->planes().size());
    entries_.resize(scope_->planes().size());
  }

  std::optional<HeldRoutes> read() {
    const auto dumps = files_of(files_, SourceKind::opensm_tables);
    if (dumps.empty()) return std::nullopt;
    for (const SiteFile* dump : dumps) add_tables(*dump);
    if (held_.from.empty()) throw blamed(std::move(*refused_), *refused_file_);
    for (const SiteFile* dump : files_of(files_, SourceKind::opensm_levels)) add_levels(*dump);
    for (const SiteFile* dump : files_of(files_, SourceKind::opensm_lane_maps)) add_maps(*dump);
    if (!held_.levels && held_.maps) {
      held_.left_out.emplace_back("maps of levels: no dump of path records tells which level a path has");
    }
    return std::move(held_);
  }

 private:
  // A file about another fabric is named, and others count; a file that cannot be read is refused.
  void leave_out(const SiteFile& file, Error error) {
    if (error.code != "routing.foreignDump") throw blamed(std::move(error), file);
    held_.left_out.push_back(file.name + ": " + error.message);
    if (!refused_) {
      refused_file_ = &file;
      refused_ = std::move(error);
    }
  }

  // The dump names LIDs. Those of the fabric's own source count; a list of OpenSM's links tells others where the source has
  // none, and knows no LIDs beyond the first of a port.
  void add_tables(const SiteFile& dump) {
    auto best = fabric::read_tables(scope_, dump.text);
    const SiteFile* list = nullptr;
    for (const SiteFile* links : lists_) {
      if (best && best->unknown_lids == 0) break;
      auto listed = fabric::read_tables(scope_, dump.text, links->text);
      if (!listed || (best && listed->entries <= best->entries)) continue;
      best = std::move(listed);
      list = links;
    }
    if (!best) return leave_out(dump, std::move(best.error()));
    bool used = false;
    for (const PlaneId plane : scope_->planes()) {
      const std::size_t entries = best->entries_of_plane[plane.index()];
      if (entries <= entries_[plane.index()]) continue;
      entries_[plane.index()] = entries;
      held_.tables.share_plane(best->tables, plane);
      held_.told[plane.index()] = used = true;
    }
    if (!used) {
      held_.left_out.push_back(dump.name + ": another file tells as much of the same tables");
      return;
    }
    held_.from.push_back(dump.name);
    held_.links.push_back(list == nullptr ? std::string() : list->name);
    held_.unknown_switches += best->unknown_switches;
    held_.unknown_lids += best->unknown_lids;
  }

  void add_levels(const SiteFile& dump) {
    auto best = fabric::read_path_levels(scope_, dump.text, {});
    for (const SiteFile* links : lists_) {
      if (best && best->unknown == 0) break;
      auto listed = fabric::read_path_levels(scope_, dump.text, links->text);
      if (listed && (!best || listed->unknown < best->unknown)) best = std::move(listed);
    }
    if (!best) return leave_out(dump, std::move(best.error()));
    if (held_.levels) {
      fabric::add_levels(*scope_, *best, *held_.levels);
    } else {
      held_.levels = std::move(*best);
    }
  }

  void add_maps(const SiteFile& dump) {
    auto maps = fabric::LaneMaps::read(*scope_, dump.text);
    if (!maps) return leave_out(dump, std::move(maps.error()));
    if (held_.maps) {
      held_.maps->add_all(*maps);
    } else {
      held_.maps = std::move(*maps);
    }
  }

  const std::vector<SiteFile>& files_;
  fabric::RoutingScopePtr scope_;
  std::vector<const SiteFile*> lists_;  // of links
  HeldRoutes held_;
  std::vector<std::size_t> entries_;  // by plane, of the dump that counts
  std::optional<Error> refused_;      // the first file that is about another fabric
  const SiteFile* refused_file_ = nullptr;
};

}  // namespace

bool HeldRoutes::whole() const {
  for (const PlaneId plane : tables.scope().planes()) {
    if (!told[plane.index()] && tables.scope().plane(plane).destination_count() > 0) return false;
  }
  return true;
}

std::optional<HeldRoutes> read_held_routes(const std::vector<SiteFile>& files, const fabric::ForwardingTables& own) {
  return HeldReader(files, own).read();
}

}  // namespace railweave::cli
