package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"railweave.dev/kubernetes/contract"
)

// Chunks against a rank map that was made from pods: whatever the order of the list, the pods come out as they went in.
func TestChunksOfRandomRankMaps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		gpus, pods := 1+random.IntN(8), 1+random.IntN(12)
		room := map[string]int{}
		var ranks []contract.Rank
		var want []string
		for pod := range pods {
			node := fmt.Sprintf("n%d", random.IntN(4))
			want = append(want, node)
			for i := range gpus {
				ranks = append(ranks, contract.Rank{Rank: pod*gpus + i, Node: node, Gpu: room[node]})
				room[node]++
			}
		}
		random.Shuffle(len(ranks), func(a, b int) { ranks[a], ranks[b] = ranks[b], ranks[a] })
		chunks, err := Chunks(ranks, gpus)
		if err != nil || len(chunks) != pods {
			t.Fatalf("%d chunks of %d pods: %v", len(chunks), pods, err)
		}
		var told []Told
		for pod, chunk := range chunks {
			first := chunk.Ranks[0]
			if chunk.Node != want[pod] || first != pod*gpus || chunk.Ranks[gpus-1] != first+gpus-1 {
				t.Fatalf("pod %d is on %s with ranks %v; it was on %s", pod, chunk.Node, chunk.Ranks, want[pod])
			}
			if !slices.Equal(Numbers(Runs(chunk.Ranks)), chunk.Ranks) || !slices.Equal(Numbers(Runs(chunk.Gpus)), chunk.Gpus) {
				t.Fatalf("%v is written as %q", chunk.Ranks, Runs(chunk.Ranks))
			}
			told = append(told, Told{chunk.Node, Numbers(Runs(chunk.Ranks)), Numbers(Runs(chunk.Gpus))})
		}
		checkPlaces(t, told, ranks)
	}
}

// What pods tell makes the rank map again.
func checkPlaces(t *testing.T, told []Told, ranks []contract.Rank) {
	t.Helper()
	places, err := Places(told)
	if err != nil {
		t.Fatal(err)
	}
	byRank := map[int]contract.Rank{}
	for _, rank := range ranks {
		byRank[rank.Rank] = rank
	}
	next := 0
	for _, place := range places {
		for _, gpu := range place.Gpus {
			if byRank[next].Node != place.Node || byRank[next].Gpu != gpu {
				t.Fatalf("rank %d is at %s:%d instead of %+v", next, place.Node, gpu, byRank[next])
			}
			next++
		}
	}
	if next != len(ranks) {
		t.Fatalf("%d of %d ranks", next, len(ranks))
	}
	if _, err := Places(told[1:]); err == nil && len(told) > 1 {
		t.Fatal("a rank map without its first pod is taken")
	}
}

func TestNodesWithPartsOfPods(t *testing.T) {
	if _, err := Chunks([]contract.Rank{{Rank: 0, Node: "a"}, {Rank: 1, Node: "a"}, {Rank: 2, Node: "a"}}, 2); err == nil {
		t.Error("three ranks are taken for pods of two")
	}
	for _, text := range []string{"", "a", "3-1", "-1", "1-", "1,,2"} {
		if got := Numbers(text); got != nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestIdempotencyKeys(t *testing.T) {
	a, b := IdempotencyKey("n", []string{"1", "2"}, 0), IdempotencyKey("n", []string{"2", "1"}, 0)
	if a != b || a == IdempotencyKey("n", []string{"1", "3"}, 0) || a == IdempotencyKey("n", []string{"1", "2"}, 1) || a == IdempotencyKey("m", []string{"1", "2"}, 0) {
		t.Errorf("keys do not tell pods apart: %s %s", a, b)
	}
}
