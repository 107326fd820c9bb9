package policy

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
)

const written = `
namespaces:
  - names: [training, ml-*]
    tenants: [research, physics]
    priorities: [high]
    maxGuaranteeGbps: 100
    classes: [all-reduce]
  - names: [lab]
    tenants: [lab]
priorityClasses:
  urgent: high
`

func TestANamespaceAsksForWhatItsOperatorAllows(t *testing.T) {
	read, err := Parse(written)
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		policy    *Policy
		namespace string
		asked     Asked
		tenant    string
		priority  string
		refusal   string
	}{
		"the first tenant is charged":                    {read, "training", Asked{}, "research", "", ""},
		"another one that is allowed":                    {read, "ml-7", Asked{Tenant: "physics", Priority: "high", Class: "all-reduce", Guarantee: 100}, "physics", "high", ""},
		"a tenant of others":                             {read, "training", Asked{Tenant: "lab"}, "", "", `may not charge tenant "lab"; its operator allows: research, physics`},
		"a priority":                                     {read, "lab", Asked{Priority: "high"}, "", "", `may not ask for priority "high"; its operator allows: none`},
		"a class":                                        {read, "lab", Asked{Class: "gold"}, "", "", `class of traffic "gold"`},
		"a guarantee":                                    {read, "training", Asked{Guarantee: 101}, "", "", "its operator allows 100"},
		"a namespace that is not named":                  {read, "mlx", Asked{}, "", "", "namespace mlx has no tenant"},
		"a PriorityClass":                                {read, "training", Asked{PriorityClass: "urgent"}, "research", "high", ""},
		"what a pod says itself goes before":             {Unrestricted("t"), "x", Asked{Priority: "low", PriorityClass: "urgent"}, "t", "low", ""},
		"a PriorityClass of a priority that is not":      {read, "lab", Asked{PriorityClass: "urgent"}, "", "", "PriorityClass urgent, which stands for priority"},
		"a PriorityClass that the table does not have":   {read, "lab", Asked{PriorityClass: "other"}, "lab", "", ""},
		"nothing configured: its own name":               {Default(""), "team", Asked{Priority: "normal"}, "team", "normal", ""},
		"nothing configured: no one else's":              {Default(""), "team", Asked{Tenant: "physics"}, "", "", `may not charge tenant "physics"; its operator allows: team`},
		"nothing configured: nothing that others lose":   {Default("shared"), "team", Asked{Guarantee: 1}, "", "", "its operator allows 0"},
		"nothing configured: no priority over others":    {Default("shared"), "team", Asked{Priority: "high"}, "", "", "may not ask for priority"},
		"nothing configured: a tenant that all share":    {Default("shared"), "team", Asked{}, "shared", "", ""},
		"no policy at all is that of nothing configured": {nil, "team", Asked{}, "team", "", ""},
	} {
		settled, err := one.policy.Settle(one.namespace, one.asked)
		switch {
		case one.refusal != "":
			if err == nil || !strings.Contains(err.Error(), one.refusal) {
				t.Errorf("%s: %v instead of %q", name, err, one.refusal)
			}
		case err != nil || settled.Tenant != one.tenant || settled.Priority != one.priority:
			t.Errorf("%s: %+v, %v", name, settled, err)
		}
	}
}

func TestWhatCannotBeReadAllowsNothingNew(t *testing.T) {
	for text, why := range map[string]string{
		"namespaces: [{names: [a]}]":                             "has no tenants",
		"namespaces: [{tenants: [a]}]":                           "has no names",
		"namespaces: [{names: [a], tenants: ['*']}]":             "the first tenant is charged",
		"namespaces: [{names: [a], tenants: [a], tenantz: [b]}]": "tenantz",
		"namespaces: 7": "cannot unmarshal",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", text, err)
		}
	}
	of := func(text string) *corev1.ConfigMap { return &corev1.ConfigMap{Data: map[string]string{Key: text}} }
	source := &Source{Tenant: "shared", Log: logr.Discard()}
	source.set(of("nonsense: true"))
	if _, err := source.Now().Settle("training", Asked{}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("a policy that never could be read: %v", err)
	}
	source.set(of(written))
	source.set(of("nonsense: true"))
	if settled, err := source.Now().Settle("training", Asked{}); err != nil || settled.Tenant != "research" {
		t.Errorf("the last good policy: %+v %v", settled, err)
	}
	source.set(nil)
	if settled, err := source.Now().Settle("training", Asked{}); err != nil || settled.Tenant != "shared" {
		t.Errorf("without a ConfigMap: %+v %v", settled, err)
	}
}
