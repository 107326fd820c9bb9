package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/policy"
)

func made(annotations map[string]string) *corev1.Pod {
	limits := corev1.ResourceList{names.DefaultGpuResource: resource.MustParse("8")}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one", Annotations: annotations},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "train", Resources: corev1.ResourceRequirements{Limits: limits}}}}}
}

// Every variable is read from an annotation that the pod has, or one that may be absent: NCCL ignores "", and no other library does.
func TestVariablesAreNeverEmptyForLibrariesThatRefuseIt(t *testing.T) {
	for _, annotations := range []map[string]string{nil, {names.QosClass: "all-reduce"}, {names.Level: "rack"}} {
		pod := made(annotations)
		if !Change(pod, names.DefaultGpuResource, false) {
			t.Fatal("not changed")
		}
		found := map[string]string{}
		for _, one := range pod.Spec.Containers[0].Env {
			found[one.Name] = one.ValueFrom.FieldRef.FieldPath
		}
		for _, mark := range names.Marks {
			path, given := found[mark.Variable]
			if given == (mark.Asked && pod.Annotations[names.QosClass] == "") {
				t.Errorf("%s: given %v", mark.Variable, given)
			}
			if given && path != "metadata.annotations['"+mark.Annotation()+"']" {
				t.Errorf("%s is read from %s", mark.Variable, path)
			}
			if given && pod.Annotations[mark.Annotation()] != mark.Unset {
				t.Errorf("%s begins as %q", mark.Variable, pod.Annotations[mark.Annotation()])
			}
		}
	}
}

// What a pod says of itself that only Railweave may say, and what its namespace may not ask for, is refused; the rest is not looked at.
func TestWhatIsRefused(t *testing.T) {
	gate := func(pod *corev1.Pod) *corev1.Pod {
		pod.Namespace = "team"
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: names.Gate}}
		return pod
	}
	rules, err := policy.Parse("namespaces: [{names: [team], tenants: [research]}]")
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		pod  *corev1.Pod
		text string
	}{
		"its own tenant":                 {gate(made(map[string]string{names.Tenant: "research"})), ""},
		"another one":                    {gate(made(map[string]string{names.Tenant: "physics"})), "may not charge tenant"},
		"another one, without a gate":    {made(map[string]string{names.Tenant: "physics"}), ""},
		"a placement that was not given": {made(map[string]string{names.Job: "job-1"}), "is Railweave's own"},
		"ranks, behind a gate":           {gate(made(map[string]string{names.Ranks: "0-7"})), "is Railweave's own"},
	} {
		err := Check(one.pod, names.DefaultGpuResource, rules)
		if (one.text == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), one.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Pods with GPUs that are not counted are not gated, and say why; claims count, whatever the pod says of them.
func TestPodsThatAreLeftAlone(t *testing.T) {
	mig := made(nil)
	mig.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/mig-1g.10gb": resource.MustParse("1")}
	if !Change(mig, names.DefaultGpuResource, false) || group.Gated(mig) || !strings.Contains(mig.Annotations[names.Left], "nvidia.com/mig-1g.10gb") {
		t.Errorf("parts of GPUs: %+v", mig)
	}
	claims := made(map[string]string{names.ClaimedGpus: "1"})
	claims.Spec.Containers[0].Resources = corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpus"}}}
	claims.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpus"}}
	Claim(claims, group.Counted{Gpus: 8})
	if !Change(claims, names.DefaultGpuResource, false) || !group.Gated(claims) || group.Gpus(claims, names.DefaultGpuResource) != 8 || len(claims.Spec.Containers[0].Env) == 0 {
		t.Errorf("claims: %+v", claims)
	}
	shared := made(nil)
	shared.Spec = *claims.Spec.DeepCopy()
	shared.Spec.SchedulingGates = nil
	Claim(shared, group.Counted{Unknown: "shared"})
	if !Change(shared, names.DefaultGpuResource, false) || group.Gated(shared) || shared.Annotations[names.Left] != "shared" {
		t.Errorf("claims that are not counted: %+v", shared)
	}
}
