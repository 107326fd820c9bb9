package controller

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"railweave.dev/kubernetes/contract"
	"railweave.dev/kubernetes/group"
	"railweave.dev/kubernetes/names"
	"railweave.dev/kubernetes/nodes"
	"railweave.dev/kubernetes/placement"
	"railweave.dev/kubernetes/policy"
)

// begin starts a railweaved with four leaves of four hosts, and a tenant; its URL.
func begin(t *testing.T, bin string) string {
	t.Helper()
	folder := t.TempDir()
	service := exec.Command(filepath.Join(bin, "railweaved"), "--listen", "127.0.0.1:0", "--store", filepath.Join(folder, "store.db"), "--authentication", "none")
	out, err := service.StdoutPipe()
	if err == nil {
		err = service.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Process.Kill(); _ = service.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	at := strings.Index(line, "http://127.0.0.1:")
	if err != nil || at < 0 {
		t.Fatalf("railweaved says %q: %v", line, err)
	}
	server := strings.Fields(line[at:])[0]
	fabric := filepath.Join(folder, "fabric.json")
	for _, words := range [][]string{{"lab", "generate", "fat-tree", "--radix", "8", "--hosts", "16", "--nics-per-host", "1", "-O", fabric}, {"fabric", "import", fabric}, {"tenants", "set", "research"}} {
		if said, err := exec.Command(filepath.Join(bin, "railweave"), append([]string{"--server", server}, words...)...).CombinedOutput(); err != nil {
			t.Fatalf("railweave %v: %s", words, said)
		}
	}
	return server
}

// cluster is an API server with the Job of the fixture, its pods and their nodes.
func cluster(t *testing.T, options *Options) client.Client {
	t.Helper()
	var pods corev1.PodList
	read(t, "testdata/pods.json", &pods)
	four := int32(4)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train", UID: types.UID("5a4a0d4e-0000-4000-8000-000000000001")},
		Spec: batchv1.JobSpec{Completions: &four, Parallelism: &four}}
	builder := fake.NewClientBuilder().WithLists(&pods).WithObjects(job).WithStatusSubresource(&corev1.Pod{}).WithIndex(&corev1.Pod{}, GroupIndex,
		func(object client.Object) []string {
			if key, relevant := options.keyOf(object); relevant {
				return []string{key.String() + "/" + key.UID}
			}
			return nil
		})
	for i := 1; i <= 16; i++ {
		room := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"), "cpu": resource.MustParse("96"), "memory": resource.MustParse("1Ti"), "pods": resource.MustParse("110")}
		builder = builder.WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%02d", i)},
			Status: corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}})
	}
	return builder.Build()
}

// The whole controller against a real railweaved, with the API server alone in memory: pods that run are adopted and told their order.
func TestAGroupIsOrderedByARealService(t *testing.T) {
	bin := os.Getenv("RAILWEAVE_BIN")
	if bin == "" {
		t.Skip("RAILWEAVE_BIN does not name the folder of railweaved")
	}
	service, err := contract.New(begin(t, bin), "", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	options := Options{Cluster: "test", GpuResource: names.DefaultGpuResource, Policy: &policy.Source{Tenant: "research"}, Grace: time.Minute, Patience: time.Minute,
		NodeLost: time.Minute, Steps: Steps{Cluster: Order}, AdoptOthers: true}
	kube := cluster(t, &options)
	syncer := &nodes.Syncer{Client: kube, Live: kube, Contract: service, Log: logr.Discard(), NotReady: NotReady, Every: time.Second, NodeLost: time.Minute, GpuResource: options.GpuResource}
	book := &placement.Book{Client: service, Cluster: options.Cluster, Log: logr.Discard(), Event: syncer.Seen, Changed: func(string) {}, All: func() {}}
	go func() { _ = book.Start(ctx) }()
	go func() { _ = syncer.Start(ctx) }()
	r := &Reconciler{Client: kube, Book: book, Site: syncer, Options: options, Log: logr.Discard(), Recorder: events.NewFakeRecorder(256), counts: newCounts(),
		telling: rate.NewLimiter(100, 100), helping: rate.NewLimiter(2, 10), resited: make(chan struct{}, 1),
		Owners: &group.Owners{Cached: kube, Live: kube, Mapper: kube.RESTMapper(), GpuResource: options.GpuResource}}
	key := group.Key{Namespace: "default", Kind: group.IndexedJob, Name: "train", UID: "5a4a0d4e-0000-4000-8000-000000000001"}
	o := &ordering{r: r, key: key}
	ordered := func(when string) {
		t.Helper()
		orders := ""
		for until := time.Now().Add(30 * time.Second); time.Now().Before(until) && orders != "0 2 1 3"; time.Sleep(100 * time.Millisecond) {
			if _, err := r.Reconcile(ctx, key); err != nil {
				t.Fatal(err)
			}
			orders = strings.Join(o.notes(t, names.Order), " ")
		}
		if orders != "0 2 1 3" {
			t.Fatalf("%s: orders are %q", when, orders)
		}
	}
	ordered("at first")
	jobs, err := service.Jobs(ctx, "placed")
	if err != nil || len(jobs) != 1 {
		t.Fatalf("jobs are %+v, %v", jobs, err)
	}
	job, err := service.Job(ctx, jobs[0].ID)
	if err != nil || strings.Join(job.NodeList, " ") != "node-01 node-02 node-05 node-06" || job.Spec.External == nil || job.Spec.External.Step != string(Order) {
		t.Fatalf("the job is %+v, %v", job, err)
	}
	// A pod that its Job makes again, where the one before was.
	again := &corev1.Pod{}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: "default", Name: "train-2-mm4tb"}, again); err != nil {
		t.Fatal(err)
	}
	if err := kube.Delete(ctx, again.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	again.Name, again.ResourceVersion, again.UID = "train-2-again", "", "again"
	again.Annotations = map[string]string{"batch.kubernetes.io/job-completion-index": "2"}
	if err := kube.Create(ctx, again); err != nil {
		t.Fatal(err)
	}
	ordered("after a pod was made again")
}
