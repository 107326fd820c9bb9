// Package policy is the operator's word on namespaces: which tenant each charges, and what its pods may ask for. Annotations are written by
// users, so nothing is taken from them that is not allowed here.
package policy

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ConfigMapName is the ConfigMap in Railweave's namespace that has the policy, Key its entry.
const (
	ConfigMapName = "railweave-policy"
	Key           = "policy.yaml"
)

// Any in a list allows all.
const Any = "*"

// Rule is for the namespaces that it names; the first one that names a namespace is the namespace's.
type Rule struct {
	Names            []string `yaml:"names"`            // of namespaces; one that ends with * is a prefix
	Tenants          []string `yaml:"tenants"`          // the first is charged where a pod names none
	Priorities       []string `yaml:"priorities"`       // beside that of pods which ask for none
	MaxGuaranteeGbps float64  `yaml:"maxGuaranteeGbps"` // of each port; 0 for none
	Classes          []string `yaml:"classes"`          // of traffic
}

type document struct {
	Namespaces      []Rule            `yaml:"namespaces"`
	PriorityClasses map[string]string `yaml:"priorityClasses"`
}

// Policy is not changed once it is made. The nil policy is that of nothing configured and no common tenant.
type Policy struct {
	rules      []Rule
	priorities map[string]string // of PriorityClasses
	broken     error
	where      string
}

// Default is what holds where nothing is configured: a namespace charges the tenant of its own name, or the one that is given, with what
// takes nothing from other namespaces.
func Default(tenant string) *Policy {
	rule := Rule{Names: []string{Any}, Priorities: []string{"low", "normal"}}
	if tenant != "" {
		rule.Tenants = []string{tenant}
	}
	return &Policy{rules: []Rule{rule}}
}

// Unrestricted is for questions that charge nothing.
func Unrestricted(tenant string) *Policy {
	all := []string{Any}
	rule := Rule{Names: all, Tenants: all, Priorities: all, Classes: all, MaxGuaranteeGbps: 1e6}
	if tenant != "" {
		rule.Tenants = []string{tenant, Any}
	}
	return &Policy{rules: []Rule{rule}}
}

// Broken has nothing placed, with the reason: what cannot be read may have forbidden it.
func Broken(why error) *Policy { return &Policy{broken: why} }

// Parse reads the text of the ConfigMap.
func Parse(text string) (*Policy, error) {
	reader := yaml.NewDecoder(strings.NewReader(text))
	reader.KnownFields(true)
	var read document
	if err := reader.Decode(&read); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", Key, err)
	}
	for i, rule := range read.Namespaces {
		switch {
		case len(rule.Names) == 0:
			return nil, fmt.Errorf("%s: namespaces[%d] has no names", Key, i)
		case len(rule.Tenants) == 0 || rule.Tenants[0] == "":
			return nil, fmt.Errorf("%s: namespaces[%d] (%s) has no tenants", Key, i, strings.Join(rule.Names, ", "))
		case rule.Tenants[0] == Any:
			return nil, fmt.Errorf("%s: namespaces[%d] (%s): the first tenant is charged where a pod names none, so it is no %q", Key, i, strings.Join(rule.Names, ", "), Any)
		case rule.MaxGuaranteeGbps < 0:
			return nil, fmt.Errorf("%s: namespaces[%d]: maxGuaranteeGbps is %v", Key, i, rule.MaxGuaranteeGbps)
		}
	}
	return &Policy{rules: read.Namespaces, priorities: read.PriorityClasses, where: "ConfigMap " + ConfigMapName}, nil
}

func (r *Rule) names(namespace string) bool {
	return slices.ContainsFunc(r.Names, func(name string) bool {
		prefix, wild := strings.CutSuffix(name, Any)
		return name == namespace || wild && strings.HasPrefix(namespace, prefix)
	})
}

func (p *Policy) rule(namespace string) (Rule, error) {
	if p == nil {
		p = Default("")
	}
	if p.broken != nil {
		return Rule{}, fmt.Errorf("the operator's policy cannot be read, so nothing is placed by it: %w", p.broken)
	}
	for _, rule := range p.rules {
		if rule.names(namespace) {
			if len(rule.Tenants) == 0 {
				rule.Tenants = []string{namespace}
			}
			return rule, nil
		}
	}
	return Rule{}, fmt.Errorf("namespace %s has no tenant: its operator gives it one in %s", namespace, p.where)
}

// Asked is what a pod asks for in its annotations.
type Asked struct {
	Tenant, Priority, PriorityClass, Class string
	Guarantee                              float64
}

// Charged is the tenant that pays for pods of the namespace that name none.
func (p *Policy) Charged(namespace string) (string, error) {
	rule, err := p.rule(namespace)
	if err != nil {
		return "", err
	}
	return rule.Tenants[0], nil
}

// Mapped says that the operator's table has the PriorityClass.
func (p *Policy) Mapped(class string) bool { return p != nil && p.priorities[class] != "" }

func allows(list []string, one string) bool {
	return slices.Contains(list, one) || slices.Contains(list, Any)
}

// Settle fills in what is left out. The error says what is not allowed, and what is.
func (p *Policy) Settle(namespace string, asked Asked) (Asked, error) {
	rule, err := p.rule(namespace)
	if err != nil {
		return asked, err
	}
	refuse := func(what, one string, allowed []string) error {
		list := "none"
		if len(allowed) > 0 {
			list = strings.Join(allowed, ", ")
		}
		return fmt.Errorf("namespace %s may not %s %q; its operator allows: %s", namespace, what, one, list)
	}
	if asked.Tenant == "" {
		asked.Tenant = rule.Tenants[0]
	} else if !allows(rule.Tenants, asked.Tenant) {
		return asked, refuse("charge tenant", asked.Tenant, rule.Tenants)
	}
	what := "ask for priority"
	if mapped := p.ofClass(asked.PriorityClass); asked.Priority == "" && mapped != "" {
		asked.Priority = mapped
		what = fmt.Sprintf("ask for PriorityClass %s, which stands for priority", asked.PriorityClass)
	}
	if asked.Priority != "" && !allows(rule.Priorities, asked.Priority) {
		return asked, refuse(what, asked.Priority, rule.Priorities)
	}
	if asked.Class != "" && !allows(rule.Classes, asked.Class) {
		return asked, refuse("ask for class of traffic", asked.Class, rule.Classes)
	}
	if asked.Guarantee > rule.MaxGuaranteeGbps {
		return asked, fmt.Errorf("namespace %s may not ask for a guarantee of %v Gb/s of each port; its operator allows %v", namespace, asked.Guarantee, rule.MaxGuaranteeGbps)
	}
	return asked, nil
}

func (p *Policy) ofClass(class string) string {
	if p == nil {
		return ""
	}
	return p.priorities[class]
}
