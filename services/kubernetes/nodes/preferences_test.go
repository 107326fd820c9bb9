package nodes

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railweave.dev/kubernetes/contract"
)

func labelled(name string, labels map[string]string, taints ...corev1.Taint) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.NodeSpec{Taints: taints}}
}

func wanting(terms []corev1.PreferredSchedulingTerm, tolerations ...corev1.Toleration) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Tolerations: tolerations, Affinity: &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}}}}
}

func term(weight int32, key string, operator corev1.NodeSelectorOperator, values ...string) corev1.PreferredSchedulingTerm {
	return corev1.PreferredSchedulingTerm{Weight: weight, Preference: corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}}
}

func TestPreferencesOfPods(t *testing.T) {
	soft := corev1.Taint{Key: "old", Value: "yes", Effect: corev1.TaintEffectPreferNoSchedule}
	hard := corev1.Taint{Key: "old", Value: "yes", Effect: corev1.TaintEffectNoSchedule}
	nodes := []*corev1.Node{
		labelled("c", map[string]string{"tier": "gold", "zone": "a"}),
		labelled("a", map[string]string{"tier": "gold", "zone": "b"}, soft),
		labelled("b", map[string]string{"tier": "iron", "zone": "c"}, hard),
	}
	prefer := func(weight int, avoid bool, names ...string) contract.NodePreference {
		return contract.NodePreference{Nodes: names, Weight: weight, Avoid: avoid}
	}
	tolerates := corev1.Toleration{Key: "old", Operator: corev1.TolerationOpExists}
	for name, one := range map[string]struct {
		pod  *corev1.Pod
		want []contract.NodePreference
	}{
		"plain":      {&corev1.Pod{}, []contract.NodePreference{prefer(TaintWeight, true, "a")}},
		"tolerating": {wanting(nil, tolerates), nil},
		"label":      {wanting([]corev1.PreferredSchedulingTerm{term(20, "tier", corev1.NodeSelectorOpIn, "gold")}, tolerates), []contract.NodePreference{prefer(20, false, "a", "c")}},
		"either": {wanting([]corev1.PreferredSchedulingTerm{term(7, "zone", corev1.NodeSelectorOpIn, "b", "c"), term(3, "zone", corev1.NodeSelectorOpNotIn, "a", "b")}, tolerates),
			[]contract.NodePreference{prefer(7, false, "a", "b"), prefer(3, false, "b")}},
		"all alike": {wanting([]corev1.PreferredSchedulingTerm{term(20, "tier", corev1.NodeSelectorOpExists), term(20, "tier", corev1.NodeSelectorOpIn, "wood")}, tolerates), nil},
	} {
		if got := Preferences(one.pod, nodes); !reflect.DeepEqual(got, one.want) {
			t.Errorf("%s: %+v, not %+v", name, got, one.want)
		}
	}
}

func TestPreferencesNameTheFewerNodes(t *testing.T) {
	var nodes []*corev1.Node
	for i := range 5000 {
		labels := map[string]string{"tier": "gold"}
		if i < 10 {
			labels["tier"] = "iron"
		}
		nodes = append(nodes, labelled(string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)), labels))
	}
	got := Preferences(wanting([]corev1.PreferredSchedulingTerm{term(20, "tier", corev1.NodeSelectorOpIn, "gold")}), nodes)
	if len(got) != 1 || len(got[0].Nodes) != 10 || !got[0].Avoid || got[0].Weight != 20 {
		t.Fatalf("%+v", got)
	}
}
