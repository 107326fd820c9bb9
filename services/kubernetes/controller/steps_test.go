package controller

import (
	"strings"
	"testing"
)

func TestNamespacesMayHaveStepsOfTheirOwn(t *testing.T) {
	for _, one := range []struct {
		cluster, namespaces string
		steps               map[string]Step
	}{
		{"place", "", map[string]Step{"team": Place}},
		{"place", "team=observe,test=place", map[string]Step{"team": Observe, "test": Place, "other": Place}},
		{"observe", "team=place,test=order", map[string]Step{"team": Place, "test": Order, "other": Observe}},
		{"order", "", map[string]Step{"team": Order}},
	} {
		steps, err := ReadSteps(one.cluster, one.namespaces)
		if err != nil {
			t.Fatal(err)
		}
		for namespace, want := range one.steps {
			if steps.Of(namespace) != want || steps.Observes(namespace) != (want != Place) {
				t.Errorf("%s, %s: %s is at step %s", one.cluster, one.namespaces, namespace, steps.Of(namespace))
			}
		}
	}
	for _, wrong := range [][2]string{{"all", ""}, {"place", "team"}, {"place", "=observe"}, {"place", "team=route"}, {"", ""}} {
		if _, err := ReadSteps(wrong[0], wrong[1]); err == nil || !strings.Contains(err.Error(), "observe") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if (Steps{}).Observes("team") {
		t.Error("nothing said is place")
	}
}
