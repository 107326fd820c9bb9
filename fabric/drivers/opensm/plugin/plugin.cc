// What OpenSM loads and calls. No exception leaves a function of this file.
#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "fabric/drivers/opensm/plugin/plugin_state.h"
#include "fabric/drivers/opensm/plugin/seen_subnet.h"

namespace railweave::fabric::opensm {
namespace {

// Runs it; what it throws is logged, and answered with `otherwise`.
template <class Answer, class Run>
Answer guarded(osm_log_t& log, Answer otherwise, Run run) noexcept {
  try {
    return run();
  } catch (const std::exception& thrown) {
    osm_log(&log, OSM_LOG_ERROR, "railweave: %s\n", thrown.what());
  } catch (...) {
    osm_log(&log, OSM_LOG_ERROR, "railweave: an unknown exception\n");
  }
  return otherwise;
}

struct Handle {  // what OpenSM passes to the plugin's callbacks
  osm_opensm_t* osm;
  PluginState* state;
};

Handle& handle_of(void* context) { return *static_cast<Handle*>(context); }

// Positive answers would make OpenSM fill the tables by minhop: failures are negative.
int build_tables(void* context) {
  Handle& handle = handle_of(context);
  return guarded(handle.osm->log, -1, [&] { return handle.state->build_tables() ? 0 : -1; });
}

uint8_t path_sl(void* context, uint8_t hint, const ib_net16_t from, const ib_net16_t to) {
  Handle& handle = handle_of(context);
  return guarded(handle.osm->log, hint, [&]() -> uint8_t {
    const PathLanes* lanes = handle.state->lanes();
    return lanes == nullptr ? hint : lanes->level(cl_ntoh16(from), cl_ntoh16(to)).value_or(hint);
  });
}

void update_sl2vl(void* context, osm_physp_t* port, uint8_t in, uint8_t out, ib_slvl_table_t* table) {
  Handle& handle = handle_of(context);
  guarded(handle.osm->log, 0, [&] {
    const osm_node_t* node = osm_physp_get_node_ptr(port);
    const Guid device = guid_of(osm_node_get_node_guid(node));
    const std::uint8_t leaves = node->sw != nullptr ? out : osm_physp_get_port_num(port);
    if (const auto map = handle.state->ports().map(device, in, leaves)) {
      for (unsigned sl = 0; sl < map->size(); ++sl) ib_slvl_table_set(table, static_cast<uint8_t>(sl), (*map)[sl]);
      return 0;
    }
    const PathLanes* lanes = handle.state->lanes();
    if (lanes == nullptr) return 0;
    const std::vector<std::uint8_t> by_level =
        node->sw != nullptr ? lanes->lanes(device, in, out) : lanes->lanes_of_end_port();
    // Levels that no path has behave as one that some have, so that nothing on them can wait in a circle of its own.
    for (unsigned sl = 0; sl < IB_MAX_NUM_VLS && !by_level.empty(); ++sl) {
      ib_slvl_table_set(table, static_cast<uint8_t>(sl), by_level[std::min<std::size_t>(sl, by_level.size() - 1)]);
    }
    return 0;
  });
}

// block_number: 0 and 1 of the low-priority table, 2 and 3 of the high-priority table, each of up to 32 entries.
void update_vlarb(void* context, osm_physp_t* port, uint8_t number, ib_vl_arb_table_t* block, unsigned length,
                  unsigned block_number) {
  (void)number;  // 0 for adapters
  Handle& handle = handle_of(context);
  guarded(handle.osm->log, 0, [&] {
    const osm_node_t* node = osm_physp_get_node_ptr(port);
    const PortLanes* lanes =
        handle.state->ports().find({guid_of(osm_node_get_node_guid(node)), osm_physp_get_port_num(port)});
    if (lanes == nullptr) return 0;
    const bool is_low = block_number < 2;
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t at = std::size_t{block_number} * IB_NUM_VL_ARB_ELEMENTS_IN_BLOCK + i;
      const VlWeight entry = is_low && at < lanes->weights.size() ? lanes->weights[at] : VlWeight{};
      block->vl_entry[i].vl = entry.vl;
      block->vl_entry[i].weight = entry.weight;
    }
    return 0;
  });
}

int set_up_engine(osm_routing_engine_t* engine, osm_opensm_t* osm) {
  (void)osm;
  // Without a build_lid_matrices of ours OpenSM computes its own, which its multicast routing needs.
  engine->ucast_build_fwd_tables = build_tables;
  engine->path_sl = path_sl;
  engine->update_sl2vl = update_sl2vl;
  engine->update_vlarb = update_vlarb;
  return 0;
}

void* create(osm_opensm_t* osm) {
  return guarded(osm->log, static_cast<void*>(nullptr), [&]() -> void* {
    const char* text = osm->subn.opt.event_plugin_options;
    auto options = read_plugin_options(text == nullptr ? "" : text);
    if (!options) {
      osm_log(&osm->log, OSM_LOG_ERROR, "railweave: %s; going on without\n", options.error().text().c_str());
      options = PluginOptions{};
    }
    auto state = std::make_unique<PluginState>(*osm, std::move(*options));
    auto handle = std::make_unique<Handle>(Handle{osm, state.get()});
    const external_routing_engine_module_t engine{PluginState::kEngineName, set_up_engine, handle.get()};
    if (osm_register_external_routing_engine(osm, &engine, handle.get()) != CL_SUCCESS) {
      osm_log(&osm->log, OSM_LOG_ERROR, "railweave: OpenSM does not take the routing engine\n");
      return nullptr;
    }
    osm_log(&osm->log, OSM_LOG_INFO, "railweave: routing engine '%s' is there\n", PluginState::kEngineName);
    state.release();
    return handle.release();
  });
}

void destroy(void* context) {
  Handle* const handle = static_cast<Handle*>(context);
  guarded(handle->osm->log, 0, [&] {
    delete handle->state;
    delete handle;
    return 0;
  });
}

void report(void* context, osm_epi_event_id_t id, void* data) {
  Handle& handle = handle_of(context);
  guarded(handle.osm->log, 0, [&] {
    handle.state->on_event(id, data);
    return 0;
  });
}

}  // namespace
}  // namespace railweave::fabric::opensm

extern "C" {
__attribute__((visibility("default"))) osm_event_plugin_t osm_event_plugin = {
    OSM_VERSION,
    railweave::fabric::opensm::create,
    railweave::fabric::opensm::destroy,
    railweave::fabric::opensm::report,
};
}
