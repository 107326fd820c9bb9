// The worst traffic that a hose allows on a link, by a linear program (GLPK) over the pairs that cross it: what loads and
// grants are compared with. Without GLPK it is not there.
#pragma once

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/capacity/naive_hose.h"

#ifdef RAILWEAVE_HAS_GLPK
#include <glpk.h>
#endif

namespace railweave::fabric::testing {

// From one of the ports to another, by index: this part of the packets crosses the link.
struct Crossing {
  std::size_t from, to;
  double fraction = 1;
};

#ifdef RAILWEAVE_HAS_GLPK
inline double worst_load(const std::vector<NaivePort>& ports, const std::vector<Crossing>& crossing) {
  glp_prob* program = glp_create_prob();
  glp_set_obj_dir(program, GLP_MAX);
  const auto n = static_cast<int>(ports.size());
  glp_add_rows(program, 2 * n);
  for (int i = 0; i < n; ++i) {
    const NaivePort& port = ports[static_cast<std::size_t>(i)];
    glp_set_row_bnds(program, i + 1, GLP_UP, 0, static_cast<double>(port.send));
    glp_set_row_bnds(program, n + i + 1, GLP_UP, 0, static_cast<double>(port.receive));
  }
  glp_add_cols(program, static_cast<int>(crossing.size()));
  for (std::size_t i = 0; i < crossing.size(); ++i) {
    const int column = static_cast<int>(i + 1);
    glp_set_col_bnds(program, column, GLP_LO, 0, 0);
    glp_set_obj_coef(program, column, crossing[i].fraction);
    const int rows[] = {0, static_cast<int>(crossing[i].from + 1), n + static_cast<int>(crossing[i].to + 1)};
    const double ones[] = {0, 1, 1};
    glp_set_mat_col(program, column, 2, rows, ones);
  }
  glp_smcp quiet;
  glp_init_smcp(&quiet);
  quiet.msg_lev = GLP_MSG_OFF;
  EXPECT_EQ(glp_simplex(program, &quiet), 0);
  const double worst = glp_get_obj_val(program);
  glp_delete_prob(program);
  return worst;
}
#endif

}  // namespace railweave::fabric::testing
