// Attention for `qkvet check exec:./attention`. Put your own into the first function; the rest does the protocol.
//
//	go build -o attention main.go
//
// The standard library alone. SPDX-License-Identifier: MIT OR Apache-2.0
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
)

// call is one call of attention. Tensors are row-major without gaps: query (b, h_q, n_q, d_k), key (b, h_k, n_k, d_k),
// value (b, h_k, n_k, d_v). With causal, query i sees the keys j <= i + n_k - n_q.
type call struct {
	query, key, value         []float32
	b, hq, hk, nq, nk, dk, dv int
	scale                     float64 // as asked for, else 1/sqrt(d_k)
	causal                    bool
}

// attention gives the numbers of (b, h_q, n_q, d_v). What is here is right and slow.
func attention(c *call) ([]float32, error) {
	if c.dk > 1024 {
		return nil, declined{"unsupported", fmt.Sprintf("head width %d > 1024", c.dk)}
	}
	output := make([]float32, c.b*c.hq*c.nq*c.dv)
	weights := make([]float64, c.nk)
	for row := 0; row < c.b*c.hq*c.nq; row++ {
		i, head, item := row%c.nq, row/c.nq%c.hq, row/c.nq/c.hq
		group := item*c.hk + head/(c.hq/c.hk)
		largest, sum := math.Inf(-1), 0.0
		for j := range weights {
			score := 0.0
			for t := 0; t < c.dk; t++ {
				score += float64(c.query[row*c.dk+t]) * float64(c.key[(group*c.nk+j)*c.dk+t])
			}
			weights[j] = score * c.scale
			if c.causal && j > i+c.nk-c.nq {
				weights[j] = math.Inf(-1)
			}
			largest = math.Max(largest, weights[j])
		}
		for j, score := range weights {
			weights[j] = 0
			if !math.IsInf(score, -1) {
				weights[j] = math.Exp(score - largest)
			}
			sum += weights[j]
		}
		for col := 0; col < c.dv && sum > 0; col++ { // a query that sees no key gives 0
			total := 0.0
			for j, weight := range weights {
				total += weight * float64(c.value[(group*c.nk+j)*c.dv+col])
			}
			output[row*c.dv+col] = float32(total / sum)
		}
	}
	return output, nil
}

// What is not listed is not asked for, and counted as declined.
var (
	options = []string{"scale", "causal"}
	outputs = []string{"output"}
)

// declined says why there is no result: unsupported, refused or error.
type declined struct{ status, reason string }

func (d declined) Error() string { return d.reason }

type tensor struct {
	Dtype string `json:"dtype"`
	Shape []int  `json:"shape"`
	Data  []byte `json:"data"` // encoding/json reads and writes base64
}

type request struct {
	Op      string                     `json:"op"`
	Wire    int                        `json:"wire"`
	Seq     uint64                     `json:"seq"`
	Params  map[string]json.RawMessage `json:"params"`
	Want    []string                   `json:"want"`
	Tensors map[string]json.RawMessage `json:"tensors"`
}

func lists(list []string, name string) bool {
	for _, known := range list {
		if known == name {
			return true
		}
	}
	return false
}

// unknown gives a name that this program does not know: declined, never passed over.
func unknown(r *request) string {
	for name := range r.Params {
		if !lists(options, strings.TrimSuffix(name, "_hex")) {
			return name
		}
	}
	for name := range r.Tensors {
		if !lists([]string{"query", "key", "value"}, name) {
			return name
		}
	}
	for _, name := range r.Want {
		if !lists(outputs, name) {
			return name
		}
	}
	return ""
}

func numbers(r *request, name string) ([4]int, []float32, error) {
	var t tensor
	if err := json.Unmarshal(r.Tensors[name], &t); err != nil {
		return [4]int{}, nil, declined{"error", name + ": " + err.Error()}
	}
	if t.Dtype != "float32" {
		return [4]int{}, nil, declined{"unsupported", name + ": dtype " + t.Dtype}
	}
	if len(t.Shape) != 4 || t.Shape[0]*t.Shape[1]*t.Shape[2]*t.Shape[3]*4 != len(t.Data) {
		return [4]int{}, nil, declined{"error", name + ": expected 4 axes and as many bytes as they say"}
	}
	data := make([]float32, len(t.Data)/4)
	for at := range data {
		data[at] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*at:]))
	}
	return [4]int{t.Shape[0], t.Shape[1], t.Shape[2], t.Shape[3]}, data, nil
}

func run(r *request) (*tensor, error) {
	if name := unknown(r); name != "" {
		return nil, declined{"unsupported", "no " + name}
	}
	q, query, err := numbers(r, "query")
	if err != nil {
		return nil, err
	}
	k, key, err := numbers(r, "key")
	if err != nil {
		return nil, err
	}
	v, value, err := numbers(r, "value")
	if err != nil {
		return nil, err
	}
	if k != [4]int{q[0], k[1], k[2], q[3]} || v != [4]int{q[0], k[1], k[2], v[3]} || k[1] == 0 || q[1]%k[1] != 0 {
		return nil, declined{"refused", fmt.Sprintf("shapes: query %v, key %v, value %v", q, k, v)}
	}
	c := &call{query, key, value, q[0], q[1], k[1], q[2], k[2], q[3], v[3], 1 / math.Sqrt(float64(q[3])), false}
	if scale, there := r.Params["scale"]; there {
		if err := json.Unmarshal(scale, &c.scale); err != nil {
			return nil, declined{"error", "scale: " + err.Error()}
		}
	}
	if causal, there := r.Params["causal"]; there {
		if err := json.Unmarshal(causal, &c.causal); err != nil {
			return nil, declined{"error", "causal: " + err.Error()}
		}
	}
	output, err := attention(c)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 4*len(output))
	for at, x := range output {
		binary.LittleEndian.PutUint32(data[4*at:], math.Float32bits(x))
	}
	return &tensor{"float32", []int{c.b, c.hq, c.nq, c.dv}, data}, nil
}

func answer(r *request) map[string]any {
	if r.Op == "hello" {
		if r.Wire != 1 {
			return map[string]any{"ok": false, "message": fmt.Sprintf("wire: expected 1, got %d", r.Wire)}
		}
		supports := map[string]any{"dtypes": []string{"float32"}, "options": options, "outputs": outputs}
		return map[string]any{"ok": true, "wire": 1, "name": "mine", "language": "go", "supports": supports}
	}
	output, err := run(r)
	if err == nil {
		return map[string]any{"seq": r.Seq, "status": "ok", "tensors": map[string]any{"output": output}}
	}
	status := "error"
	if d, is := err.(declined); is {
		status = d.status
	}
	return map[string]any{"seq": r.Seq, "status": status, "reason": err.Error()}
}

func main() {
	answers := json.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr // standard output belongs to the protocol
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if r.Op == "stop" {
			return
		}
		if err := answers.Encode(answer(&r)); err != nil {
			os.Exit(2)
		}
	}
}
