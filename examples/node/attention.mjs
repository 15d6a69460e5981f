// Attention in JavaScript, and how to let qkvet check it: `qkvet check "exec:node attention.mjs"`.
// Speaks qkvet-wire/1 (docs/wire.md) with nothing but the standard library.
// SPDX-License-Identifier: MIT OR Apache-2.0
import { createInterface } from "node:readline";

const formats = { float32: Float32Array, float64: Float64Array, bool: Uint8Array };
const supports = {
  dtypes: ["float32", "float64"],
  options: ["scale", "causal", "mask", "bias"],
  outputs: ["output", "weights"],
  payloads: ["inline"],
};
const product = (shape) => shape.reduce((n, extent) => n * extent, 1);

class Unsupported extends Error {}
class Refused extends Error {}

/** The index into a mask or bias of 2 or 4 axes that stands for all of (b, h_q, n_q, n_k). */
function broadcast(shape) {
  const [B, H, I, J] = [...Array(4 - shape.length).fill(1), ...shape];
  const within = (n, idx) => (n === 1 ? 0 : idx);
  return (b, h, i, j) => ((within(B, b) * H + within(H, h)) * I + within(I, i)) * J + within(J, j);
}

/** Tensors that do not fit together have no attention: reading on would give numbers all the same. */
function check({ query, key, value, mask, bias }) {
  const [[b, h_q, n_q, d_k], [, h_k, n_k]] = [query.shape, key.shape];
  const same = (x, y) => x.length === y.length && x.every((n, axis) => n === y[axis]);
  if (!same(key.shape, [b, h_k, n_k, d_k]) || !same(value.shape.slice(0, 3), [b, h_k, n_k]) || h_q % h_k !== 0) {
    throw new Refused(`shapes: query ${query.shape}, key ${key.shape}, value ${value.shape}`);
  }
  for (const { shape } of [mask, bias].filter((tensor) => tensor)) {
    const scores = [b, h_q, n_q, n_k].slice(4 - shape.length);
    if (!shape.every((n, axis) => n === 1 || n === scores[axis])) throw new Refused(`shape ${shape} for ${scores}`);
  }
}

/** Numbers are float64 between the rounding of the inputs and that of the results. */
export function attention({ query, key, value, mask, bias }, { scale, causal = false }) {
  check({ query, key, value, mask, bias });
  const [b, h_q, n_q, d_k] = query.shape;
  const [, h_k, n_k, d_v] = value.shape;
  const zeros = (shape) => ({ dtype: query.dtype, shape, data: new formats[query.dtype](product(shape)) });
  const [output, weights] = [zeros([b, h_q, n_q, d_v]), zeros([b, h_q, n_q, n_k])];
  const mask_idx = mask && broadcast(mask.shape);
  const bias_idx = bias && broadcast(bias.shape);
  scale ??= 1 / Math.sqrt(d_k);
  for (let row = 0; row < b * h_q * n_q; row++) {
    const [item, head, i] = [Math.floor(row / (h_q * n_q)), Math.floor(row / n_q) % h_q, row % n_q];
    const group = item * h_k + Math.floor(head / (h_q / h_k));
    const logits = new Float64Array(n_k).map((_, j) => {
      if (causal && j > i + n_k - n_q) return -Infinity;
      if (mask && !mask.data[mask_idx(item, head, i, j)]) return -Infinity;
      let score = 0;
      for (let t = 0; t < d_k; t++) score += query.data[row * d_k + t] * key.data[(group * n_k + j) * d_k + t];
      return score * scale + (bias ? bias.data[bias_idx(item, head, i, j)] : 0);
    });
    const largest = logits.reduce((most, x) => Math.max(most, x), -Infinity);
    if (largest === -Infinity) continue; // a query that sees no key gives 0
    const exps = logits.map((x) => Math.exp(x - largest));
    const sum = exps.reduce((total, x) => total + x, 0);
    for (let c = 0; c < d_v; c++) {
      let total = 0;
      for (let j = 0; j < n_k; j++) total += (exps[j] / sum) * value.data[(group * n_k + j) * d_v + c];
      output.data[row * d_v + c] = total;
    }
    weights.data.set(exps.map((x) => x / sum), row * n_k);
  }
  return { output, weights };
}

function decode(name, { dtype, shape, data }) {
  const Format = formats[dtype];
  if (!Format) throw new Unsupported(`${name}: dtype ${dtype}`);
  const bytes = Uint8Array.from(Buffer.from(data, "base64")); // a copy that begins where its buffer does
  if (bytes.length !== product(shape) * Format.BYTES_PER_ELEMENT) {
    throw new Error(`${name}: expected ${product(shape) * Format.BYTES_PER_ELEMENT} bytes, got ${bytes.length}`);
  }
  return { dtype, shape, data: new Format(bytes.buffer) };
}

function encode({ dtype, shape, data }) {
  return { dtype, shape, data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64") };
}

const statusOf = (error) =>
  error instanceof Unsupported ? "unsupported" : error instanceof Refused ? "refused" : "error";

function run({ seq, params = {}, want = ["output"], tensors: sent }) {
  const refuse = (name, known) => {
    if (!known.includes(name)) throw new Unsupported(`no ${name}`);
  };
  try {
    Object.keys(params).forEach((name) => refuse(name, ["scale", "scale_hex", "causal"]));
    Object.keys(sent).forEach((name) => refuse(name, ["query", "key", "value", "mask", "bias"]));
    want.forEach((name) => refuse(name, supports.outputs));
    const tensors = Object.fromEntries(Object.entries(sent).map(([name, tensor]) => [name, decode(name, tensor)]));
    const results = attention(tensors, params);
    return { seq, status: "ok", tensors: Object.fromEntries(want.map((name) => [name, encode(results[name])])) };
  } catch (error) {
    return { seq, status: statusOf(error), reason: error.message };
  }
}

const send = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
console.log = console.error; // standard output belongs to the protocol

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const request = JSON.parse(line);
  if (request.op === "stop") break;
  if (request.op === "run") send(run(request));
  else if (request.wire !== 1) send({ ok: false, message: `wire: expected 1, got ${request.wire}` });
  else send({ ok: true, wire: 1, name: "example-node", language: "javascript", version: "1", device: "cpu", supports });
}
process.exit(); // an open standard input would keep the process
