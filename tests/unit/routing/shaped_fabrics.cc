#include "tests/unit/routing/shaped_fabrics.h"

#include <algorithm>

namespace railweave::fabric::testing {

FabricSketch torus(const TorusShape& shape, std::uint64_t seed) {
  FabricSketch sketch;
  sketch.guid_seed = seed;
  unsigned count = 1;
  for (const unsigned size : shape.sizes) count *= size;
  sketch.switches.assign(count, {shape.hosts, 0});
  for (unsigned s = 0; s < count; ++s) {
    unsigned stride = 1;
    for (const unsigned size : shape.sizes) {
      const unsigned at = s / stride % size;
      const bool last = at + 1 == size;
      if (size > 1 && !(last && size == 2)) {
        const unsigned next = last ? s - at * stride : s + stride;
        for (unsigned p = 0; p < shape.parallel; ++p) sketch.cables.emplace_back(s, next);
      }
      stride *= size;
    }
  }
  std::mt19937_64 random(seed);
  std::shuffle(sketch.cables.begin(), sketch.cables.end(), random);
  return sketch;
}

FabricSketch dragonfly(const DragonflyShape& shape, std::uint64_t seed, std::vector<unsigned>* group) {
  FabricSketch sketch;
  sketch.guid_seed = seed;
  const unsigned size = shape.switches + shape.spines;
  std::vector<unsigned> next(shape.groups, 0);  // by group: number of global cables, dealt to its switches in turn
  const auto end = [&](unsigned g) {
    const unsigned n = next[g]++;
    return g * size + (shape.spines > 0 ? shape.switches + n % shape.spines : n % shape.switches);
  };
  for (unsigned g = 0; g < shape.groups; ++g) {
    for (unsigned s = 0; s < size; ++s) {
      sketch.switches.push_back({s < shape.switches ? shape.hosts : 0, 0});
      if (group != nullptr) group->push_back(g);
      for (unsigned other = 0; other < s; ++other) {
        const bool joined = shape.spines == 0 || (s >= shape.switches && other < shape.switches);
        if (joined) sketch.cables.emplace_back(g * size + s, g * size + other);
      }
    }
  }
  for (unsigned p = 0; p < shape.per_pair; ++p) {
    for (unsigned a = 0; a < shape.groups; ++a) {
      for (unsigned b = a + 1; b < shape.groups; ++b) {
        const unsigned from = end(a), to = end(b);
        sketch.cables.emplace_back(from, to);
      }
    }
  }
  std::mt19937_64 random(seed);
  std::shuffle(sketch.cables.begin(), sketch.cables.end(), random);
  return sketch;
}

}  // namespace railweave::fabric::testing
