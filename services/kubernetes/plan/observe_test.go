package plan

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"
)

// Whatever the situation: nothing waits for Railweave, and no pod is ended, moved or pinned by it.
func TestObservingHarmsNothing(t *testing.T) {
	lifted, adopted := 0, 0
	for seed := range 5000 {
		random := rand.New(rand.NewSource(int64(seed)))
		s := &Situation{Size: 1 + random.Intn(4), Patience: time.Minute, Suspendable: random.Intn(2) == 0, Lost: map[string]string{}, Closed: map[string]string{},
			Suspended: random.Intn(8) == 0, Away: random.Intn(8) == 0}
		if random.Intn(3) > 0 {
			s.Placement = &Placement{ID: "job-1", Placed: random.Intn(3) > 0, Adopted: random.Intn(2) == 0, Phase: []string{"", "offered", "accepted", "running", "releasing"}[random.Intn(5)]}
		}
		var gated []int
		for i := range 1 + random.Intn(s.Size) {
			node := fmt.Sprintf("n%d", random.Intn(4))
			member := Member{Name: node, Position: i, Owned: random.Intn(2) == 0, Leaving: random.Intn(8) == 0, Ended: random.Intn(8) == 0}
			if random.Intn(2) == 0 {
				member.Gated = true
			} else {
				member.Node, member.Running = node, true
			}
			if random.Intn(6) == 0 {
				s.Lost[node] = "it is gone"
			}
			if s.Placement != nil {
				s.Placement.Nodes = append(s.Placement.Nodes, node)
			}
			s.Members = append(s.Members, member)
			if member.Gated && !member.Leaving && !member.Ended {
				gated = append(gated, i)
			}
		}
		p := Observed(s, Make(s))
		if p.Submit || len(p.Ungate)+len(p.Delete)+len(p.Repair)+len(p.Mark)+len(p.Leave)+len(p.Alone) > 0 || p.Suspend != "" || p.Waits != "" {
			t.Fatalf("seed %d: %+v", seed, p)
		}
		if !slices.Equal(p.Lift, gated) {
			t.Fatalf("seed %d: gates of %v are lifted, %v are gated", seed, p.Lift, gated)
		}
		lifted += len(p.Lift)
		if p.Adopt {
			adopted++
		}
	}
	if lifted < 1000 || adopted < 50 {
		t.Errorf("%d gates, %d adoptions", lifted, adopted)
	}
}
