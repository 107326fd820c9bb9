package main

import (
	"context"
	"testing"

	"k8s.io/kube-scheduler/framework"
)

func TestScoresAreCompared(t *testing.T) {
	for _, one := range []struct{ raw, want []int64 }{
		{[]int64{2000, 1000, refused, 4000}, []int64{50, 100, 0, 25}},
		{[]int64{unknown, unknown}, []int64{100, 100}},
		{[]int64{refused, refused}, []int64{0, 0}},
		{[]int64{unknown, refused, 7}, []int64{100, 0, 100}},
		{[]int64{1, 100_000_000}, []int64{100, 1}},
	} {
		var scores []framework.PlacementScore
		for _, raw := range one.raw {
			scores = append(scores, framework.PlacementScore{Score: raw})
		}
		if status := (&Placements{}).NormalizePlacementScore(context.Background(), nil, nil, scores); !status.IsSuccess() {
			t.Fatal(status)
		}
		for i, want := range one.want {
			if scores[i].Score != want {
				t.Errorf("%v: place %d has %d instead of %d", one.raw, i, scores[i].Score, want)
			}
		}
	}
}
