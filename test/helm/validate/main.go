// Decodes the objects on stdin strictly into the API's own types: a member that the type lacks, or that occurs twice, is an error. It knows
// no types of custom resources. Prints the number of objects of each kind that were decoded or skipped; exit code 1 with one line per
// mistake.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

var errUnknown = errors.New("unknown type")

func decode(document []byte, meta metav1.TypeMeta) error {
	into := map[string]any{
		"v1/ConfigMap":                           &corev1.ConfigMap{},
		"v1/PersistentVolumeClaim":               &corev1.PersistentVolumeClaim{},
		"v1/Pod":                                 &corev1.Pod{},
		"v1/Service":                             &corev1.Service{},
		"apps/v1/Deployment":                     &appsv1.Deployment{},
		"autoscaling/v2/HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{},
		"batch/v1/CronJob":                       &batchv1.CronJob{},
		"batch/v1/Job":                           &batchv1.Job{},
		"networking.k8s.io/v1/Ingress":           &networkingv1.Ingress{},
		"networking.k8s.io/v1/NetworkPolicy":     &networkingv1.NetworkPolicy{},
		"policy/v1/PodDisruptionBudget":          &policyv1.PodDisruptionBudget{},
	}[meta.APIVersion+"/"+meta.Kind]
	if into == nil {
		return errUnknown
	}
	return yaml.UnmarshalStrict(document, into)
}

func main() {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	counts := map[string]int{}
	wrong := false
	for {
		document, err := reader.Read()
		if err == io.EOF {
			break
		}
		var object metav1.PartialObjectMetadata
		if err == nil {
			err = yaml.Unmarshal(document, &object)
		}
		if err == nil && object.Kind == "" {
			continue
		}
		if err == nil {
			err = decode(document, object.TypeMeta)
		}
		kind := object.Kind
		if errors.Is(err, errUnknown) {
			kind, err = kind+" (not decoded)", nil
		}
		if err != nil {
			wrong = true
			fmt.Printf("%s %s %s: %v\n", object.APIVersion, object.Kind, object.Name, err)
		}
		counts[kind]++
	}
	kinds := make([]string, 0, len(counts))
	for kind := range counts {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds)
	for _, kind := range kinds {
		fmt.Printf("%s %d\n", kind, counts[kind])
	}
	if wrong {
		os.Exit(1)
	}
}
