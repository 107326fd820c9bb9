package plan

import (
	"slices"
	"testing"
)

// A node that ranks were moved from is reported as free when, and only when, no pod of the group is there any more.
func TestNodesThatRanksLeft(t *testing.T) {
	for _, one := range []struct {
		name    string
		members []Member
		freed   []string
	}{
		{"a pod that ends", []Member{{Node: "a", Running: true, Pinned: "a", Job: "j"}, {Position: 1, Node: "b", Leaving: true, Pinned: "b", Job: "j"}}, nil},
		{"a pod that has ended", []Member{{Node: "a", Running: true, Pinned: "a", Job: "j"}, {Position: 1, Node: "b", Ended: true, Pinned: "b", Job: "j"}}, []string{"b"}},
		{"another pod in its place", []Member{{Node: "a", Running: true, Pinned: "a", Job: "j"}, {Position: 1, Node: "c", Running: true, Pinned: "c", Job: "j"}}, []string{"b"}},
		{"a pod that was moved within its node", []Member{{Node: "a", Running: true, Pinned: "a", Job: "j"}, {Position: 1, Node: "b", Running: true, Pinned: "b", Job: "j"}}, nil},
	} {
		nodes := []string{"a", "c"}
		if one.freed == nil && one.members[1].Running {
			nodes[1] = "b"
		}
		there := map[string]bool{}
		for _, member := range one.members {
			if !member.Ended {
				there[member.Node] = true
			}
		}
		s := Situation{Size: 2, There: there, Members: one.members, Placement: &Placement{ID: "j", Placed: true, Phase: "running", Nodes: nodes, Left: []string{"b"}}}
		plan := Make(&s)
		if got := plan.Freed; !slices.Equal(got, one.freed) || (plan.Report == "freed") != (one.freed != nil) {
			t.Errorf("%s: reports %q of %v, not of %v", one.name, plan.Report, got, one.freed)
		}
	}
}
