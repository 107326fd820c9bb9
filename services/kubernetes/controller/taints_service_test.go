package controller

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/nodes"
	"railweave.dev/kubernetes/placement"
)

// All nodes but one have a taint of Railweave's: where the pods go is what they tolerate of it, for a real railweaved.
func TestTaintsKeepPodsOffInARealService(t *testing.T) {
	bin := os.Getenv("RAILWEAVE_BIN")
	if bin == "" {
		t.Skip("RAILWEAVE_BIN does not name the folder of railweaved")
	}
	server := begin(t, bin)
	service, err := contract.New(server, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 15; i++ {
		node := "node-" + string(rune('0'+i/10)) + string(rune('0'+i%10))
		if said, err := exec.Command(filepath.Join(bin, "railweave"), "--server", server, "nodes", "set", node, "--taint", "dedicated=inference").CombinedOutput(); err != nil {
			t.Fatalf("railweave nodes set: %s", said)
		}
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	options := Options{Cluster: "test", GpuResource: names.DefaultGpuResource}
	kube := cluster(t, &options)
	syncer := &nodes.Syncer{Client: kube, Live: kube, Contract: service, Log: logr.Discard(), NotReady: NotReady, Every: time.Second, NodeLost: time.Minute, GpuResource: options.GpuResource}
	go func() { _ = syncer.Start(ctx) }()
	var pods corev1.PodList
	read(t, "testdata/pods.json", &pods)
	demand := group.Demand{Gpus: 8, Tenant: "research", PodsPerNode: 1}
	for number, one := range []struct {
		tolerations []corev1.Toleration
		state       string
	}{
		{nil, "queued"},
		{[]corev1.Toleration{{Key: "dedicated", Value: "research"}}, "queued"},
		{[]corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}, "queued"},
		{[]corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "inference", Effect: corev1.TaintEffectNoSchedule}}, "placed"},
		{[]corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}, "placed"},
		{[]corev1.Toleration{{Operator: corev1.TolerationOpExists}}, "placed"},
	} {
		pod := pods.Items[0].DeepCopy()
		pod.Spec.Tolerations = one.tolerations
		pod.Spec.NodeName = ""
		var site placement.Site
		for until := time.Now().Add(30 * time.Second); time.Now().Before(until) && len(site.Usable) < 16; time.Sleep(50 * time.Millisecond) {
			if site, err = syncer.Of(ctx, pod, &demand, 4, nil); err != nil {
				t.Fatal(err)
			}
			if len(site.Usable) < 16 && len(site.Unusable) > 0 {
				break // pods of the fixture are on some
			}
		}
		key := group.Key{Namespace: "default", Kind: group.IndexedJob, Name: "taints-" + string(rune('a'+number))}
		body, err := placement.Request(options.Cluster, key, demand, 4, site)
		if err != nil {
			t.Fatal(err)
		}
		job, err := service.Submit(ctx, "taints-"+key.Name, body)
		state := "queued" // or refused: neither runs
		if err == nil {
			state = job.State
		} else if contract.Away(err) || !strings.Contains(err.Error(), "dedicated") {
			t.Fatalf("%+v: %v", one.tolerations, err)
		}
		if state != one.state {
			t.Errorf("%+v: the job is %s, not %s", one.tolerations, state, one.state)
		}
		if err == nil {
			if err := service.Cancel(ctx, job.ID, "tested"); err != nil {
				_ = service.Complete(ctx, job.ID, "tested", true)
			}
		}
	}
}
