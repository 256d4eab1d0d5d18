// Command kstatus reads objects as JSON, one a line, and answers each with a line of JSON: what
// github.com/fluxcd/cli-utils makes of it. Helm, Flux and kpt wait by the same code.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(lines.Bytes()); err != nil {
			fail(err)
		}
		result, err := status.Compute(object)
		if err != nil {
			fail(err)
		}
		answer, err := json.Marshal(map[string]string{"status": result.Status.String(), "message": result.Message})
		if err != nil {
			fail(err)
		}
		// One question, one answer: who asks may wait for it.
		fmt.Fprintln(out, string(answer))
		out.Flush()
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "kstatus:", err)
	os.Exit(1)
}
