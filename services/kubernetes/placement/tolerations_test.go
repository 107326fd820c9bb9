package placement

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/contract"
)

// said is KEY for every value, KEY=VALUE for one.
func said(tolerations []contract.Toleration) string {
	var words []string
	for _, one := range tolerations {
		word := one.Key
		if one.Value != nil {
			word += "=" + *one.Value
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestTolerationsAreThoseOfRailweavesTaints(t *testing.T) {
	seconds := int64(300)
	known := map[string]contract.NodeLine{
		"a": {Labels: map[string]string{"taint/dedicated": "inference", "zone": "x"}},
		"b": {Labels: map[string]string{"taint/old": ""}},
	}
	for _, one := range []struct {
		of   []corev1.Toleration
		want string
	}{
		{nil, ""},
		{[]corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}, "dedicated"},
		{[]corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "inference"}}, "dedicated=inference"},
		{[]corev1.Toleration{{Key: "dedicated", Value: "other", Effect: corev1.TaintEffectNoSchedule}}, "dedicated=other"},
		{[]corev1.Toleration{{Key: "old"}}, "old="},
		{[]corev1.Toleration{{Key: "dedicated", Value: "x"}, {Key: "dedicated", Operator: corev1.TolerationOpExists}}, "dedicated"},
		{[]corev1.Toleration{{Operator: corev1.TolerationOpExists}}, "dedicated old"},
		{[]corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}, ""},
		{[]corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}, ""},
		{[]corev1.Toleration{{Key: "absent", Operator: corev1.TolerationOpExists}, {Key: "old", Operator: corev1.TolerationOpExists}}, "old absent"},
		{[]corev1.Toleration{{Key: strings.Repeat("k", MaxTolerationKey+1), Operator: corev1.TolerationOpExists}}, ""},
		{[]corev1.Toleration{{Operator: "Gt", Key: "dedicated", Value: "1"}}, ""},
	} {
		if got := said(Tolerations(&corev1.Pod{Spec: corev1.PodSpec{Tolerations: one.of}}, known)); got != one.want {
			t.Errorf("%+v: %q, not %q", one.of, got, one.want)
		}
	}
	pod := &corev1.Pod{}
	for i := range 2 * MaxTolerations {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: fmt.Sprintf("a-%02d", i), Operator: corev1.TolerationOpExists})
	}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: "dedicated", Value: "inference"})
	if got := Tolerations(pod, known); len(got) != MaxTolerations || got[0].Key != "dedicated" {
		t.Errorf("of many there are %q", said(got))
	}
}
