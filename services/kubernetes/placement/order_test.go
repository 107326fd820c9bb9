package placement

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"railweave.dev/kubernetes/contract"
)

func ranksOn(gpus int, nodes ...string) []contract.Rank {
	var ranks []contract.Rank
	for _, node := range nodes {
		for gpu := range gpus {
			ranks = append(ranks, contract.Rank{Rank: len(ranks), Node: node, Gpu: gpu})
		}
	}
	return ranks
}

func TestPodsHaveTheOrderOfTheRanksOfTheirNodes(t *testing.T) {
	chunks, err := Chunks(ranksOn(4, "n3", "n1", "n1", "n2"), 4)
	if err != nil {
		t.Fatal(err)
	}
	seats := []Seat{{Pod: "a", Host: "a.big", Node: "n1"}, {Pod: "b", Host: "b.big", Node: "n2"}, {Pod: "c", Host: "c.big", Node: "n1"}, {Pod: "d", Host: "d.big", Node: "n3"}}
	if err := SetOrder(seats, chunks); err != nil {
		t.Fatal(err)
	}
	var orders []int
	for _, seat := range seats {
		orders = append(orders, seat.Order)
	}
	if !slices.Equal(orders, []int{1, 3, 2, 0}) {
		t.Errorf("orders are %v", orders)
	}
	if text := Hostfile(seats, 4); text != "d.big slots=4\na.big slots=4\nc.big slots=4\nb.big slots=4\n" {
		t.Errorf("the hostfile is %q", text)
	}
}

func TestPodsThatAreNotAsTheRanksHaveNoOrder(t *testing.T) {
	chunks, _ := Chunks(ranksOn(2, "n1", "n2"), 2)
	for _, nodes := range [][]string{{"n1", "n1"}, {"n1"}, {"n1", "n2", "n2"}, {"n1", "n9"}} {
		var seats []Seat
		for _, node := range nodes {
			seats = append(seats, Seat{Node: node, Order: NoOrder})
		}
		if err := SetOrder(seats, chunks); err == nil {
			t.Errorf("%v are ordered", nodes)
		}
		if slices.ContainsFunc(seats, func(seat Seat) bool { return seat.Order != NoOrder }) {
			t.Errorf("%v: %v was changed", nodes, seats)
		}
	}
}

// Whatever the placement and whichever pods are made again: each order once, pods that stay keep theirs, and ranks of one node are its pods'.
func TestOrdersArePermutationsAndStay(t *testing.T) {
	for seed := range 500 {
		random := rand.New(rand.NewSource(int64(seed)))
		size, gpus := 1+random.Intn(8), 1+random.Intn(3)
		var nodes []string
		for range size {
			nodes = append(nodes, fmt.Sprintf("n%d", random.Intn(4)))
		}
		var seats []Seat
		for i, at := range random.Perm(size) {
			seats = append(seats, Seat{Pod: fmt.Sprint(i), Node: nodes[at], Order: NoOrder})
		}
		// Chunks of a node are dealt out by its ranks, so those of one node are told together here.
		chunks, err := Chunks(ranksOn(gpus, nodes...), gpus)
		if err != nil {
			t.Fatal(err)
		}
		if err := SetOrder(seats, chunks); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, seat := range seats {
			if nodes[seat.Order] != seat.Node {
				t.Fatalf("seed %d: a pod on %s has the order of one on %s", seed, seat.Node, nodes[seat.Order])
			}
		}
		before := slices.Clone(seats)
		again := random.Intn(size + 1)
		for _, i := range random.Perm(size)[:again] {
			seats[i].Order = []int{NoOrder, size, before[random.Intn(size)].Order}[random.Intn(3)]
		}
		KeepOrder(seats)
		seen := make([]bool, size)
		for _, seat := range seats {
			if seen[seat.Order] {
				t.Fatalf("seed %d: order %d twice: %v", seed, seat.Order, seats)
			}
			seen[seat.Order] = true
		}
		if again == 0 && !slices.Equal(before, seats) {
			t.Fatalf("seed %d: orders changed without a reason", seed)
		}
	}
}

func TestAHostfileThatFitsNoAnnotationIsLeftOut(t *testing.T) {
	if Hostfile([]Seat{{Host: strings.Repeat("x", MaxHostfileBytes)}}, 8) != "" {
		t.Error("it was written")
	}
}
