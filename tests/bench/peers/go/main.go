// SPDX-License-Identifier: Apache-2.0

// A mutating webhook of the usual kind, for comparison only: typed decode, the pod changed in place and
// marshalled again, the patch made from the difference of the two texts. With -fixed it decides nothing: it answers
// with a patch that it was given, or with none.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

const resource = "rdma/hca"

// The same variables as the benchmark's policy gives.
var (
	fromNode  = []string{"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY"}
	constants = [][2]string{
		{"NCCL_SOCKET_IFNAME", "eth0"},
		{"NCCL_DEBUG", "WARN"},
		{"NCCL_IB_PCI_RELAXED_ORDERING", "1"},
		{"NCCL_IB_QPS_PER_CONNECTION", "8"},
		{"NCCL_IB_RETRY_CNT", "7"},
		{"NCCL_IB_TC", "106"},
		{"NCCL_IB_TIMEOUT", "22"},
	}
	codecs = newCodecs()
)

func newCodecs() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	must(admissionv1.AddToScheme(scheme))
	must(corev1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func wanted() []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, name := range fromNode {
		path := "metadata.annotations['values.example.com/" + name + "']"
		env = append(env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}})
	}
	for _, constant := range constants {
		env = append(env, corev1.EnvVar{Name: constant[0], Value: constant[1]})
	}
	return env
}

func add(container *corev1.Container) []string {
	if _, requests := container.Resources.Limits[resource]; !requests {
		return nil
	}
	present := map[string]bool{}
	for _, entry := range container.Env {
		present[entry.Name] = true
	}
	var added []string
	for _, entry := range wanted() {
		if !present[entry.Name] {
			container.Env = append(container.Env, entry)
			added = append(added, entry.Name)
		}
	}
	return added
}

func mutate(raw []byte) ([]byte, error) {
	var pod corev1.Pod
	if _, _, err := codecs.UniversalDeserializer().Decode(raw, nil, &pod); err != nil {
		return nil, err
	}
	status := map[string][]string{}
	for i := range pod.Spec.Containers {
		if added := add(&pod.Spec.Containers[i]); added != nil {
			status[pod.Spec.Containers[i].Name] = added
		}
	}
	text, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations["nccl-env.io/status"] = string(text)
	mutated, err := json.Marshal(&pod)
	if err != nil {
		return nil, err
	}
	operations, err := jsonpatch.CreatePatch(raw, mutated)
	if err != nil {
		return nil, err
	}
	return json.Marshal(operations)
}

// The patch that a file of this directory holds for the review's resource, read once.
func fixed(directory string) func(*admissionv1.AdmissionRequest) ([]byte, error) {
	patches := map[string][]byte{}
	for _, resource := range []string{"pods", "pods-binding"} {
		text, err := os.ReadFile(filepath.Join(directory, resource+".json"))
		if err == nil {
			patches[resource] = text
		} else if !os.IsNotExist(err) {
			log.Fatal(err)
		}
	}
	return func(request *admissionv1.AdmissionRequest) ([]byte, error) {
		resource := request.Resource.Resource
		if request.SubResource != "" {
			resource += "-" + request.SubResource
		}
		return patches[resource], nil
	}
}

func admit(w http.ResponseWriter, r *http.Request, change func(*admissionv1.AdmissionRequest) ([]byte, error)) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var review admissionv1.AdmissionReview
	if _, _, err := codecs.UniversalDeserializer().Decode(body, nil, &review); err != nil || review.Request == nil {
		http.Error(w, "not a review", http.StatusBadRequest)
		return
	}
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if patch, err := change(review.Request); err != nil {
		response.Allowed = false
		response.Result = &metav1.Status{Message: err.Error()}
	} else if patch != nil {
		kind := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = patch, &kind
	}
	review.Request, review.Response = nil, response
	text, err := json.Marshal(&review)
	must(err)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}

func main() {
	certificate := flag.String("cert", "", "certificate, PEM")
	key := flag.String("key", "", "its key, PEM")
	listen := flag.String("listen", "127.0.0.1:0", "address and port")
	directory := flag.String("fixed", "", "directory with pods.json and pods-binding.json, each the patch of such reviews")
	flag.Parse()
	listener, err := net.Listen("tcp", *listen)
	must(err)
	change := func(request *admissionv1.AdmissionRequest) ([]byte, error) { return mutate(request.Object.Raw) }
	if *directory != "" {
		change = fixed(*directory)
	}
	http.HandleFunc("/admit", func(w http.ResponseWriter, r *http.Request) { admit(w, r, change) })
	server := &http.Server{TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}}}
	must(server.ServeTLS(listener, *certificate, *key))
}
