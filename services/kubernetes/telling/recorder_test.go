package telling

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
)

// sink keeps events as the API server does: a patch of a series changes its count, never its text.
type sink struct {
	mutex sync.Mutex
	texts []string
	again int
}

func (s *sink) Create(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.texts = append(s.texts, event.Note)
	return event, nil
}

func (s *sink) Update(_ context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	return event, nil
}

func (s *sink) Patch(_ context.Context, event *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.again++
	return event, nil
}

func (s *sink) held() ([]string, int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.texts), s.again
}

func TestATextThatHasChangedIsAnEventOfItsOwn(t *testing.T) {
	kept := &sink{}
	broadcaster := events.NewBroadcaster(kept)
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	recorder := Recorder{broadcaster.NewRecorder(scheme.Scheme, "railweave")}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "train-0", UID: "one"}}
	for i, text := range []string{"8 GPUs are free", "4 GPUs are free", "4 GPUs are free", "100% of them are used"} {
		recorder.Eventf(pod, nil, corev1.EventTypeNormal, "WaitsForPlacement", "Placing", "%s", text)
		for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			if texts, again := kept.held(); len(texts)+again > i {
				break
			}
		}
	}
	texts, again := kept.held()
	if !slices.Equal(texts, []string{"8 GPUs are free", "4 GPUs are free", "100% of them are used"}) || again != 1 {
		t.Fatalf("events are %q, and %d were told again", texts, again)
	}
}
