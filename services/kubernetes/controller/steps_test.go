package controller

import (
	"strings"
	"testing"
)

func TestNamespacesMayHaveStepsOfTheirOwn(t *testing.T) {
	for _, one := range []struct {
		cluster, namespaces string
		observed            map[string]bool
	}{
		{"place", "", map[string]bool{"team": false}},
		{"place", "team=observe,test=place", map[string]bool{"team": true, "test": false, "other": false}},
		{"observe", "team=place", map[string]bool{"team": false, "other": true}},
	} {
		steps, err := ReadSteps(one.cluster, one.namespaces)
		if err != nil {
			t.Fatal(err)
		}
		for namespace, want := range one.observed {
			if steps.Observes(namespace) != want {
				t.Errorf("%s, %s: %s is observed: %v", one.cluster, one.namespaces, namespace, !want)
			}
		}
	}
	for _, wrong := range [][2]string{{"all", ""}, {"place", "team"}, {"place", "=observe"}, {"place", "team=order"}} {
		if _, err := ReadSteps(wrong[0], wrong[1]); err == nil || !strings.Contains(err.Error(), "observe") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
