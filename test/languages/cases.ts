import assert from 'node:assert/strict';
import { ANTHROPIC_INPUT_TOKENS } from '../factories/upstream-anthropic.ts';
import { OPENAI_INPUT_TOKENS } from '../factories/upstream-openai.ts';
import { ORDINARY } from '../factories/upstream-server.ts';
import { CACHED_TOKENS, type Family } from './simulated-models.ts';

/** What a client's program reports about a case. Members that its client does not report are absent or null. */
export interface CaseSeen {
  readonly case: string;
  readonly text?: string;
  readonly finish?: string | null;
  readonly city?: string;
  readonly input?: number;
  readonly output?: number;
  readonly cached?: number | null;
  readonly models?: readonly string[];
  readonly model?: string | null;
  readonly chunks?: number;
  readonly dimensions?: number;
  readonly bytes?: number;
  /** The client's own name for a rejection. */
  readonly recognized?: string;
  readonly error?: {
    readonly status?: number | null;
    readonly code?: string | null;
    readonly message: string;
  };
}

/** Throws what is wrong; returns a text for the table. */
type Check = (seen: CaseSeen, family: Family) => string;

const WORDS = ORDINARY.words.join('');
/** Names of the two dialects for the end of a complete answer. */
const ENDS = ['stop', 'end_turn', 'STOP', 'Stop'];

/** The table of cases: what every client must report about each. */
export const CASES: Readonly<Record<string, Check>> = {
  simple: whole,
  stream: whole,
  tools: (seen) => {
    assert.deepEqual([told(seen).city, seen.text], ['Paris', WORDS]);
    return 'called, answered, went on';
  },
  structured: (seen) => {
    assert.equal(told(seen).city, 'Paris');
    return 'an object of the schema';
  },
  usage: (seen, family) => {
    const input = family === 'openai' ? OPENAI_INPUT_TOKENS : ANTHROPIC_INPUT_TOKENS + CACHED_TOKENS;
    assert.deepEqual([told(seen).input, seen.output], [input, ORDINARY.words.length]);
    assert.ok([CACHED_TOKENS, null, undefined].includes(seen.cached), `${seen.cached} cached`);
    return `${seen.input} + ${seen.output}, ${seen.cached ?? 'not told what is'} cached`;
  },
  models: (seen, family) => {
    assert.ok(told(seen).models?.includes(`${family}/chat`), String(seen.models));
    assert.ok([`${family}/chat`, null, undefined].includes(seen.model), String(seen.model));
    return `${seen.models?.length} models`;
  },
  'wrong key': refused(401, 'invalid_api_key'),
  'no credits': refused(402, 'insufficient_credits'),
  'bad request': refused(400, 'invalid_parameter'),
  'unknown model': refused(404, 'model_not_found'),
  'rate limit': refused(429, 'provider_rate_limited'),
  'provider fails': refused(502, 'provider_error'),
  'breaks off': raised,
  cancel: (seen) => {
    assert.equal(told(seen).chunks, 3);
    return 'left after 3 chunks';
  },
  'time-out': raised,
};

/** The client's own retries after its own timeout, with its default number of tries. */
export const ASKED_AGAIN = ['asked again', 'asked again with a key'];

/** Cases that only some clients support or have a name for. */
export const MORE_CASES: Readonly<Record<string, Check>> = {
  embeddings: (seen) => {
    assert.ok((told(seen).dimensions ?? 0) > 0, String(seen.dimensions));
    return `${seen.dimensions} dimensions`;
  },
  responses: whole,
  'responses, stream': whole,
  'count tokens': (seen) => {
    assert.ok((told(seen).input ?? 0) > 0, String(seen.input));
    return `${seen.input} tokens`;
  },
  images: downloaded,
  videos: downloaded,
  'too long': recognized,
  'gives up': recognized,
  'asked again': whole,
  'asked again with a key': whole,
};

function told(seen: CaseSeen): CaseSeen {
  assert.equal(seen.error, undefined, seen.error?.message);
  return seen;
}

function downloaded(seen: CaseSeen): string {
  assert.ok((told(seen).bytes ?? 0) > 1_000, String(seen.bytes));
  return `${seen.bytes} bytes`;
}

function whole(seen: CaseSeen): string {
  assert.equal(told(seen).text, WORDS);
  assert.ok(seen.finish === undefined || ENDS.includes(String(seen.finish)), String(seen.finish));
  return 'every word and the end';
}

/** Checks that an incomplete answer raises an error instead of looking complete. */
function raised({ error }: CaseSeen): string {
  assert.ok(error, 'no error was raised');
  return error.message;
}

function recognized(seen: CaseSeen): string {
  assert.ok(told(seen).recognized, 'the client has no name for it');
  return String(seen.recognized);
}

/** Returns a check for a rejection. A client must report the status, our code, or both. */
function refused(status: number, code: string): Check {
  return ({ error }) => {
    assert.ok(error, 'no error was raised');
    const facts = [error.status ?? undefined, error.code ?? undefined];
    assert.ok(facts.some((fact) => fact !== undefined) || error.message.includes(code), error.message);
    assert.deepEqual(facts, [facts[0] && status, facts[1] && code], error.message);
    return `${error.status ?? ''} ${error.code ?? ''}: ${error.message}`;
  };
}
