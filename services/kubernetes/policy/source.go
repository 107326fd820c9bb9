package policy

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	controllercache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Source is the policy as the ConfigMap has it now. One that cannot be read any more leaves the last one that could be in force.
type Source struct {
	Tenant   string // without a ConfigMap
	Log      logr.Logger
	Recorder events.EventRecorder // may be nil
	Changed  func()               // may be nil

	mutex sync.Mutex
	now   *Policy
	good  bool
}

// Now is the policy in force.
func (s *Source) Now() *Policy {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.now == nil {
		s.now = Default(s.Tenant)
	}
	return s.now
}

// Load reads it before anything is decided by it.
func (s *Source) Load(ctx context.Context, api client.Reader, namespace string) error {
	held := &corev1.ConfigMap{}
	err := api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ConfigMapName}, held)
	if apierrors.IsNotFound(err) {
		s.set(nil)
		return nil
	} else if err != nil {
		return fmt.Errorf("ConfigMap %s/%s: %w; apply deploy/kubernetes/rbac.yaml of this release", namespace, ConfigMapName, err)
	}
	s.set(held)
	return nil
}

// Follow keeps it as it is in the cache.
func (s *Source) Follow(ctx context.Context, objects controllercache.Informers) error {
	informer, err := objects.GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	put := func(object any) {
		if held, ok := object.(*corev1.ConfigMap); ok && held.Name == ConfigMapName {
			s.set(held)
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: put, UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if held, ok := object.(*corev1.ConfigMap); ok && held.Name == ConfigMapName {
				s.set(nil)
			}
		}})
	return err
}

func (s *Source) set(held *corev1.ConfigMap) {
	read, err := Default(s.Tenant), error(nil)
	if held != nil {
		text, found := held.Data[Key]
		if !found {
			err = errors.New("it has no entry " + Key)
		} else {
			read, err = Parse(text)
		}
	}
	s.mutex.Lock()
	switch {
	case err == nil:
		s.now, s.good = read, true
	case !s.good:
		s.now = Broken(fmt.Errorf("ConfigMap %s: %w", ConfigMapName, err))
	}
	s.mutex.Unlock()
	if err != nil {
		s.Log.Error(err, "the policy cannot be read; the last one stays in force", "configMap", ConfigMapName)
		if s.Recorder != nil {
			s.Recorder.Eventf(held, nil, corev1.EventTypeWarning, "PolicyNotRead", "Reading", "the last policy that could be read stays in force: %s", err.Error())
		}
	}
	if s.Changed != nil {
		s.Changed()
	}
}
