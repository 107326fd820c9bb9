// A change of one of the state's shared tables: a copy takes its place. Private to this folder.
#pragma once

#include <memory>
#include <utility>

namespace railweave::control {

template <class T, class Change>
void change(std::shared_ptr<const T>& table, Change apply_change) {
  auto changed = std::make_shared<T>(*table);
  apply_change(*changed);
  table = std::move(changed);
}

}  // namespace railweave::control
