package plan

import (
	"slices"
	"testing"
	"time"
)

// whole is a group of four that runs, each on its own node.
func whole() *Situation {
	s := &Situation{Size: 4, Patience: time.Minute, Suspendable: true, Lost: map[string]string{}, Closed: map[string]string{},
		Placement: &Placement{ID: "job-1", Placed: true, Phase: "running", Nodes: []string{"a", "b", "c", "d"}}}
	for i, node := range s.Placement.Nodes {
		s.Members = append(s.Members, Member{Name: node, Position: i, Node: node, Pinned: node, Job: "job-1", Running: true, Owned: true})
	}
	return s
}

func harms(p Plan) bool { return len(p.Delete) > 0 || p.Suspend != "" || p.Release != "" }

// One pod of a drained node: its ranks move; without a spare it waits; the others run on, whatever happens.
func TestADrainedNodeMovesOnePod(t *testing.T) {
	s := whole()
	s.Closed["b"] = "it is cordoned"
	if p := Make(s); harms(p) || len(p.Repair) > 0 {
		t.Errorf("a pod that runs on a cordoned node is moved: %+v", p)
	}
	s.Members[1] = Member{Name: "new", Position: 1, Gated: true, Owned: true}
	if p := Make(s); !slices.Equal(p.Repair, []string{"b"}) || !p.Moves || harms(p) || len(p.Ungate) > 0 {
		t.Errorf("with a spare: %+v", p)
	}
	s.NoSpare = true
	if p := Make(s); harms(p) || len(p.Ungate) > 0 || p.Waits == "" || p.Again == 0 {
		t.Errorf("without a spare: %+v", p)
	}
	// Another pod that is gone, and whose node is well, begins meanwhile.
	s.Members[3] = Member{Name: "other", Position: 3, Gated: true, Owned: true}
	if p := Make(s); harms(p) || !slices.Equal(p.Ungate, []int{3}) {
		t.Errorf("another one: %+v", p)
	}
	// Pinned there already, and not begun: as before, nothing else is ended, also when the scheduler has given up.
	s = whole()
	s.Closed["b"], s.NoSpare = "it is cordoned", true
	s.Members[1] = Member{Name: "new", Position: 1, Pinned: "b", Job: "job-1", Owned: true, Stuck: "1 node was unschedulable"}
	if p := Make(s); harms(p) {
		t.Errorf("pinned: %+v", p)
	}
	// Nothing of it has begun: it is placed again at once.
	for i := range s.Members {
		s.Members[i] = Member{Position: i, Gated: true, Owned: true}
	}
	s.Placement.Phase = "accepted"
	if p := Make(s); p.Release == "" || len(p.Ungate) > 0 {
		t.Errorf("not begun: %+v", p)
	}
}

// Pods of no group: by themselves, or to the scheduler; GPUs that wait for them are given back.
func TestPodsApart(t *testing.T) {
	s := whole()
	s.Members = append(s.Members, Member{Name: "fifth", Position: 4, Gated: true, Owned: true})
	if p := Make(s); !slices.Equal(p.Alone, []int{4}) || harms(p) {
		t.Errorf("beyond the group: %+v", p)
	}
	s = &Situation{Size: 2, Members: []Member{{Gated: true, Alone: true, Position: -1}, {Gated: true, Alone: true, Position: -1}}}
	if p := Make(s); !slices.Equal(p.Alone, []int{0, 1}) || p.Submit {
		t.Errorf("waves: %+v", p)
	}
	s = &Situation{Left: "not known", Members: []Member{{Gated: true}, {Running: true, Node: "a"}},
		Placement: &Placement{ID: "job-1", Phase: ""}}
	s.Members = s.Members[:1]
	if p := Make(s); !slices.Equal(p.Leave, []int{0}) || p.Left != "not known" || p.Release == "" {
		t.Errorf("left: %+v", p)
	}
	orphan := &Situation{Ended: true, Patience: time.Minute, Members: []Member{{Gated: true}}}
	if p := Make(orphan); p.Waits == "" || p.Again == 0 || len(p.Leave) > 0 {
		t.Errorf("its owner is gone: %+v", p)
	}
	orphan.Orphaned = time.Minute
	if p := Make(orphan); !slices.Equal(p.Leave, []int{0}) || p.Left == "" {
		t.Errorf("its owner is gone for long: %+v", p)
	}
}

// What Kubernetes would preempt for is lifted as a whole, and its place in the queue given up; a group that runs is not.
func TestKubernetesPreempts(t *testing.T) {
	s := &Situation{Size: 2, Yields: "class urgent", Members: []Member{{Gated: true}, {Gated: true, Position: 1}},
		Placement: &Placement{ID: "job-1", Reason: "full"}}
	if p := Make(s); !slices.Equal(p.Lift, []int{0, 1}) || p.Release == "" || p.Lifts != "class urgent" {
		t.Errorf("%+v", p)
	}
	s.Yields = ""
	if p := Make(s); len(p.Lift) > 0 || p.Release != "" || p.Waits != "full" {
		t.Errorf("%+v", p)
	}
	// One of a group that began without a placement comes back: it begins without one, and the others run on.
	s = whole()
	s.Placement.Adopted = true
	for i := range s.Members {
		s.Members[i].Lifted, s.Members[i].Pinned = true, ""
	}
	s.Members[2] = Member{Position: 2, Gated: true, Owned: true}
	if p := Make(s); !slices.Equal(p.Lift, []int{2}) || harms(p) {
		t.Errorf("%+v", p)
	}
}
