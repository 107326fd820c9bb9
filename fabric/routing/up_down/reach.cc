#include "fabric/routing/up_down/reach.h"

#include <algorithm>

namespace railweave::fabric {

namespace {

struct Columns {  // a range of columns, in whole blocks
  std::size_t first = SIZE_MAX;
  std::size_t last = 0;
  [[nodiscard]] bool empty() const { return first >= last; }
  [[nodiscard]] std::size_t size() const { return last - first; }
  void add(const Columns& other) {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
};

std::uint8_t* fresh_row(SharedTiles& rows, std::size_t s) {
  return reinterpret_cast<std::uint8_t*>(rows.fresh()) + s * rows.tile_bytes();
}

}  // namespace

std::vector<ArcDirection> arc_directions(const Plane& plane, const LivePlane& live, const SwitchOrder& order) {
  std::vector<ArcDirection> directions(plane.arcs.size(), ArcDirection::none);
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
      if (live.usable[a] == 0) continue;
      directions[a] = order.position[plane.arcs[a].to] > order.position[s] ? ArcDirection::up : ArcDirection::down;
    }
  }
  return directions;
}

// Computes rows of a Reach, in a range of columns, from rows that are up to date.
class Reach::Rows {
 public:
  Rows(Reach& reach, const Plane& plane, const std::vector<ArcDirection>& directions)
      : reach_(reach),
        plane_(plane),
        directions_(directions),
        by_up_(reach.row_bytes_),
        natural_down_(reach.row_bytes_),
        must_(reach.row_bytes_) {}

  void down(std::size_t s, Columns c, std::uint8_t* to) const {
    std::fill_n(to + c.first, c.size(), kUnreachable);
    if (const std::uint32_t home = plane_.home_of[s]; home != Plane::kNone && home >= c.first && home < c.last) {
      to[home] = 0;
    }
    for_arcs(s, ArcDirection::down,
             [&](std::uint32_t child) { relax_over_link(to + c.first, reach_.down(child) + c.first, c.size()); });
  }
  void nearest(std::size_t s, Columns c, std::uint8_t* to, std::uint8_t* natural) {
    go_up(s, c, reach_.nearest_);
    minimum(to + c.first, reach_.down(s) + c.first, by_up_.data() + c.first, c.size());
    flag_shorter(natural + c.first, reach_.down(s) + c.first, by_up_.data() + c.first, c.size());
  }
  void total_layered(std::size_t s, Columns c, std::uint8_t* to) {
    go_up(s, c, reach_.total_);
    prefer_down(to + c.first, reach_.down(s) + c.first, by_up_.data() + c.first, c.size());
  }
  void total(std::size_t s, Columns c, std::uint8_t* to, std::uint8_t* no_up, std::uint8_t* any_child) {
    go_up(s, c, reach_.total_);
    std::fill_n(natural_down_.data() + c.first, c.size(), kUnreachable);
    for_arcs(s, ArcDirection::down, [&](std::uint32_t child) {
      relax_over_link_where(natural_down_.data() + c.first, reach_.down(child) + c.first,
                            row(reach_.natural_, child) + c.first, c.size());
    });
    std::copy_n(row(reach_.natural_, s) + c.first, c.size(), must_.data() + c.first);
    for_arcs(s, ArcDirection::up, [&](std::uint32_t parent) {
      flag_next_where(must_.data() + c.first, reach_.down(s) + c.first, reach_.total(parent) + c.first,
                      row(reach_.any_child_, parent) + c.first, c.size());
    });
    choose_directions({reach_.down(s) + c.first, natural_down_.data() + c.first, by_up_.data() + c.first,
                       must_.data() + c.first, to + c.first, no_up + c.first, any_child + c.first},
                      c.size());
  }

  template <class Visit>
  void for_arcs(std::size_t s, ArcDirection direction, Visit visit) const {
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
      if (directions_[a] == direction) visit(plane_.arcs[a].to);
    }
  }

 private:
  void go_up(std::size_t s, Columns c, const SharedTiles& rows) {
    std::fill_n(by_up_.data() + c.first, c.size(), kUnreachable);
    for_arcs(s, ArcDirection::up, [&](std::uint32_t parent) {
      relax_over_link(by_up_.data() + c.first, row(rows, parent) + c.first, c.size());
    });
  }

  Reach& reach_;
  const Plane& plane_;
  const std::vector<ArcDirection>& directions_;
  std::vector<std::uint8_t> by_up_, natural_down_, must_;
};

Reach::Reach(const Plane& plane, const std::vector<ArcDirection>& directions, const SwitchOrder& order)
    : layered_(order.layered), row_bytes_((plane.homes.size() + kRowBlock - 1) / kRowBlock * kRowBlock) {
  const std::size_t count = plane.switch_count();
  for (SharedTiles* rows : {&down_, &total_}) *rows = SharedTiles(count, row_bytes_);
  Rows compute(*this, plane, directions);
  const Columns all{0, row_bytes_};
  for (const std::uint32_t s : order.ascending) compute.down(s, all, fresh_row(down_, s));
  const auto top_down = [&](auto each) { std::for_each(order.ascending.rbegin(), order.ascending.rend(), each); };
  if (layered_) {
    top_down([&](std::uint32_t s) { compute.total_layered(s, all, fresh_row(total_, s)); });
    return;
  }
  for (SharedTiles* rows : {&nearest_, &natural_, &no_up_, &any_child_}) *rows = SharedTiles(count, row_bytes_);
  top_down([&](std::uint32_t s) { compute.nearest(s, all, fresh_row(nearest_, s), fresh_row(natural_, s)); });
  top_down([&](std::uint32_t s) {
    compute.total(s, all, fresh_row(total_, s), fresh_row(no_up_, s), fresh_row(any_child_, s));
  });
}

bool Reach::leads(const Plane& plane, const std::vector<ArcDirection>& directions, std::size_t s, std::size_t arc,
                  std::size_t home) const {
  const std::uint8_t here = total(s)[home];
  if (here >= kUnreachable - 1 || here == 0) return false;
  const std::uint32_t to = plane.arcs[arc].to;
  switch (directions[arc]) {
    case ArcDirection::none:
      return false;
    case ArcDirection::down:
      return down(to)[home] + 1U == here && (layered_ || row(natural_, to)[home] != 0 || row(any_child_, s)[home] != 0);
    case ArcDirection::up: {
      const bool must_go_down = layered_ ? down(s)[home] != kUnreachable : row(no_up_, s)[home] != 0;
      return !must_go_down && total(to)[home] + 1U == here;
    }
  }
  return false;
}

void Reach::bars_down(std::size_t s, std::size_t child, std::uint8_t* to) const {
  const std::uint8_t* natural = row(natural_, child);
  const std::uint8_t* any = row(any_child_, s);
  for (std::size_t i = 0; i < row_bytes_; ++i) to[i] = static_cast<std::uint8_t>(~(natural[i] | any[i]));
}

namespace {

// A buffer for a new row, which replaces the stored one where they differ.
class Renewal {
 public:
  Renewal(std::size_t row_bytes, std::vector<Reach::Change>& changes) : fresh_(row_bytes), changes_(changes) {}
  [[nodiscard]] std::uint8_t* fresh() { return fresh_.data(); }

  // Stores the columns of fresh() as row s if they differ; returns where, and adds the differences to the changes.
  Columns store(const SharedTiles& rows, SharedTiles::Editor& editor, std::uint32_t s, Columns c) {
    const auto* old = reinterpret_cast<const std::uint8_t*>(rows[s]);
    Columns differing;
    if (std::memcmp(old + c.first, fresh_.data() + c.first, c.size()) == 0) return differing;
    for (std::size_t home = c.first; home < c.last; ++home) {
      if (old[home] == fresh_[home]) continue;
      changes_.push_back({s, static_cast<std::uint32_t>(home)});
      const std::size_t block = home / kRowBlock * kRowBlock;
      differing.add({block, block + kRowBlock});
    }
    std::copy_n(fresh_.data() + c.first, c.size(), reinterpret_cast<std::uint8_t*>(editor.write(s)) + c.first);
    return differing;
  }

 private:
  std::vector<std::uint8_t> fresh_;
  std::vector<Reach::Change>& changes_;
};

}  // namespace

std::vector<Reach::Change> Reach::update(const Plane& plane, const std::vector<ArcDirection>& directions,
                                         const SwitchOrder& order, const std::vector<std::uint32_t>& changed_arcs) {
  std::vector<Change> changes;
  const std::size_t count = plane.switch_count();
  std::vector<Columns> stale_down(count), stale_nearest(layered_ ? 0 : count), stale_total(count);
  for (const std::uint32_t a : changed_arcs) {
    const std::uint32_t s = plane.arcs[plane.arcs[a].reverse].to;
    stale_down[s] = stale_total[s] = {0, row_bytes_};
    if (!layered_) stale_nearest[s] = {0, row_bytes_};
  }
  Rows compute(*this, plane, directions);
  Renewal first(row_bytes_, changes), second(row_bytes_, changes), third(row_bytes_, changes);
  {
    SharedTiles::Editor down_editor(down_);
    for (const std::uint32_t s : order.ascending) {
      const Columns c = stale_down[s];
      if (c.empty()) continue;
      compute.down(s, c, first.fresh());
      const Columns changed = first.store(down_, down_editor, s, c);
      if (changed.empty()) continue;
      stale_total[s].add(changed);
      if (!layered_) stale_nearest[s].add(changed);
      compute.for_arcs(s, ArcDirection::up, [&](std::uint32_t parent) {
        stale_down[parent].add(changed);
        if (!layered_) stale_total[parent].add(changed);
      });
    }
  }
  if (!layered_) {
    SharedTiles::Editor nearest_editor(nearest_), natural_editor(natural_);
    for (auto at = order.ascending.rbegin(); at != order.ascending.rend(); ++at) {
      const std::uint32_t s = *at;
      const Columns c = stale_nearest[s];
      if (c.empty()) continue;
      compute.nearest(s, c, first.fresh(), second.fresh());
      const Columns moved = first.store(nearest_, nearest_editor, s, c);
      const Columns now_natural = second.store(natural_, natural_editor, s, c);
      if (!moved.empty()) {
        compute.for_arcs(s, ArcDirection::down, [&](std::uint32_t child) { stale_nearest[child].add(moved); });
      }
      if (!now_natural.empty()) {
        stale_total[s].add(now_natural);
        compute.for_arcs(s, ArcDirection::up, [&](std::uint32_t parent) { stale_total[parent].add(now_natural); });
      }
    }
  }
  SharedTiles::Editor total_editor(total_), no_up_editor(no_up_), any_child_editor(any_child_);
  for (auto at = order.ascending.rbegin(); at != order.ascending.rend(); ++at) {
    const std::uint32_t s = *at;
    const Columns c = stale_total[s];
    if (c.empty()) continue;
    Columns changed;
    if (layered_) {
      compute.total_layered(s, c, first.fresh());
      changed = first.store(total_, total_editor, s, c);
    } else {
      compute.total(s, c, first.fresh(), second.fresh(), third.fresh());
      changed = first.store(total_, total_editor, s, c);
      changed.add(second.store(no_up_, no_up_editor, s, c));
      changed.add(third.store(any_child_, any_child_editor, s, c));
    }
    if (changed.empty()) continue;
    compute.for_arcs(s, ArcDirection::down, [&](std::uint32_t child) { stale_total[child].add(changed); });
  }
  return changes;
}

}  // namespace railweave::fabric
