import { readFileSync } from 'node:fs';

interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: string[];
      readonly node_types: [string[]];
      readonly edge_fields: string[];
      readonly edge_types: [string[]];
    };
    readonly node_count: number;
  };
  readonly nodes: number[];
  readonly edges: number[];
  readonly strings: string[];
}

/** Containers whose name does not say who holds them. */
const ANONYMOUS = new Set(['Object', 'Array', 'Map', 'Set', '(object elements)', '(object properties)']);

/**
 * Returns the bytes of a heap by the nearest named object on the shortest path from the roots: a class, or an internal name of the engine.
 * Format: node/deps/v8/include/v8-profiler.h, HeapSnapshot::Serialize.
 */
export function bytesByOwner(file: string): Map<string, number> {
  const { snapshot, nodes, edges, strings } = JSON.parse(readFileSync(file, 'utf8')) as Snapshot;
  const {
    node_fields: nodeFields,
    node_types: nodeTypes,
    edge_fields: edgeFields,
    edge_types: edgeTypes,
  } = snapshot.meta;
  const [nodeSize, edgeSize] = [nodeFields.length, edgeFields.length];
  const field = (name: string) => nodeFields.indexOf(name);
  const [typeAt, nameAt, bytesAt, countAt] = [
    field('type'),
    field('name'),
    field('self_size'),
    field('edge_count'),
  ];
  const [edgeTypeAt, toAt] = [edgeFields.indexOf('type'), edgeFields.indexOf('to_node')];
  const objectType = nodeTypes[0].indexOf('object');
  const weakType = edgeTypes[0].indexOf('weak');
  const firstEdge = new Uint32Array(snapshot.node_count + 1);
  for (let node = 0; node < snapshot.node_count; node += 1) {
    firstEdge[node + 1] = (firstEdge[node] ?? 0) + (nodes[node * nodeSize + countAt] ?? 0);
  }
  const nameOf = (node: number) => strings[nodes[node * nodeSize + nameAt] ?? 0] ?? '';
  const labelOf = (node: number, inherited: string) => {
    const name = nameOf(node);
    const isOwner = nodes[node * nodeSize + typeAt] === objectType && !ANONYMOUS.has(name);
    return isOwner ? name.slice(0, 60) : inherited;
  };
  const labels: (string | undefined)[] = new Array(snapshot.node_count);
  labels[0] = '(roots)';
  const queue = [0];
  const bytes = new Map<string, number>();
  for (let next = 0; next < queue.length; next += 1) {
    const node = queue[next] ?? 0;
    const label = labels[node] ?? '';
    bytes.set(label, (bytes.get(label) ?? 0) + (nodes[node * nodeSize + bytesAt] ?? 0));
    for (let edge = firstEdge[node] ?? 0; edge < (firstEdge[node + 1] ?? 0); edge += 1) {
      const to = (edges[edge * edgeSize + toAt] ?? 0) / nodeSize;
      if (edges[edge * edgeSize + edgeTypeAt] !== weakType && labels[to] === undefined) {
        labels[to] = labelOf(to, label);
        queue.push(to);
      }
    }
  }
  return bytes;
}
