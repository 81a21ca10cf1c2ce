import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** What a client of one dialect gets. */
export interface Expected {
  /** Without the role chunk and the endings, which are always the same. Generated ids end in `*`. */
  readonly deltas?: readonly unknown[];
  readonly events?: readonly unknown[];
  /** Extra fields next to the deltas or events. */
  readonly beside?: unknown;
  readonly finish?: string;
  /** The error code, where the provider's failure is also one for the client. */
  readonly error?: string;
}

/** Bytes as text, as `{base64}`, or as a repeated text. */
type Packet = string | { readonly base64: string } | { readonly repeat: string; readonly times: number };

/** One quirk of a provider: the bytes it sends, and what clients must get and pay. See docs/adding-a-provider.md. */
export interface Row {
  readonly name: string;
  /** The provider that does this, and where it was reported. */
  readonly source?: string;
  readonly protocol: 'openai' | 'anthropic' | 'responses';
  readonly status?: number;
  readonly type?: string;
  /** The answer as JSON text when it is not a stream. */
  readonly json?: string;
  /** Data of events, each of which arrives in a packet of its own. */
  readonly events?: readonly string[];
  /** The bytes as they arrived, as an alternative to `events`. */
  readonly packets?: readonly Packet[];
  /** Divides all bytes into packets of this size. */
  readonly packet_bytes?: number;
  /** Maximum output tokens of the call, 10,000 by default. */
  readonly max_tokens?: number;
  readonly chat?: Expected;
  readonly messages?: Expected;
  /** Tokens: input, output, cache reads, cache writes, reasoning. */
  readonly usage?: readonly number[];
  readonly counted?: boolean;
  /** In USD, at 1 USD per million input tokens and 2 USD per million output tokens. */
  readonly charge?: string;
}

const FOLDER = fileURLToPath(new URL('rows', import.meta.url));

export function readRows(): Row[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .flatMap((name) => parse(readFileSync(join(FOLDER, name), 'utf8')) as Row[]);
}

/** Returns the packets of a row. Events have a name except in OpenAI's chat protocol. */
export function packetsOf(row: Row): Buffer[] {
  const packets = wholePackets(row);
  if (row.packet_bytes === undefined) {
    return packets;
  }
  const all = Buffer.concat(packets);
  return Array.from({ length: Math.ceil(all.length / row.packet_bytes) }, (_, index) =>
    all.subarray(index * row.packet_bytes!, (index + 1) * row.packet_bytes!),
  );
}

function wholePackets(row: Row): Buffer[] {
  if (row.json !== undefined) {
    return [Buffer.from(row.json)];
  }
  if (row.packets) {
    return row.packets.map(bytesOf);
  }
  return row.events!.map((data) => {
    const type = row.protocol === 'openai' ? undefined : /"type":"([\w.]+)"/.exec(data)?.[1];
    return Buffer.from(`${type === undefined ? '' : `event: ${type}\n`}data: ${data}\n\n`);
  });
}

function bytesOf(packet: Packet): Buffer {
  if (typeof packet === 'string') {
    return Buffer.from(packet);
  }
  return 'base64' in packet
    ? Buffer.from(packet.base64, 'base64')
    : Buffer.from(packet.repeat.repeat(packet.times));
}
