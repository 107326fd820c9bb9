package placement

import (
	"strings"
	"testing"

	"railweave.dev/kubernetes/contract"
)

func answer(outcome string, ms float64, nodes ...string) *contract.PlacementAnswer {
	var given contract.PlacementAnswer
	given.Outcome = outcome
	for _, node := range nodes {
		given.Ranks.Items = append(given.Ranks.Items, contract.Rank{Node: node})
	}
	if ms > 0 {
		given.Predicted = &contract.Predicted{CommunicationMs: &ms}
	}
	return &given
}

func TestAdviceSaysTheGainInWordsAndAsANumber(t *testing.T) {
	own := []string{"b", "a"}
	for _, one := range []struct {
		there, here *contract.PlacementAnswer
		words       string
		gain        int // -1: not known
	}{
		{answer("placed", 6, "c", "d"), answer("placed", 8), "have chosen c, d: 6 ms", 250},
		{answer("placed", 7.99, "c", "d"), answer("placed", 8), "no faster", 0},
		{answer("placed", 6, "a", "b"), answer("placed", 8), "the same nodes", 0},
		{answer("placed", 0, "c"), answer("placed", 8), "have chosen c", -1},
		{answer("notNow", 0), answer("placed", 8), "let it wait", -1},
	} {
		words, gain := Advice(one.there, one.here, own)
		if !strings.Contains(words, one.words) {
			t.Errorf("%q does not say %q", words, one.words)
		}
		if (gain == nil) != (one.gain < 0) || (gain != nil && *gain != one.gain) {
			t.Errorf("%q: a gain of %v, not of %d", words, gain, one.gain)
		}
	}
}
