import { type ChatMessage, streamChat } from '../../api/chat-stream.ts';
import { get } from '../../api/client.ts';
import { useKept } from '../../api/kept.ts';
import { refresh } from '../../api/queries.ts';
import type { Generation } from '../../api/types.gen.ts';

export interface Turn extends ChatMessage {
  readonly id: number;
  /** For an answer: the call that produced it, once it has ended. */
  readonly generation?: Generation | undefined;
  /** The maximum cost that was shown, in nano-USD. */
  readonly most?: bigint;
  readonly error?: unknown;
  readonly isStopped?: boolean;
  /** Id of the call; empty if it was stopped before its answer began. */
  readonly call?: string;
}

export interface Question {
  readonly model: string;
  readonly system: string;
  readonly text: string;
  readonly maxTokens: number;
  readonly maxCost: string;
  readonly most: bigint;
}

export interface Chat {
  readonly turns: readonly Turn[];
  readonly isRunning: boolean;
  /** Returns all messages that a question would send. */
  messages(question: Pick<Question, 'system' | 'text'>): ChatMessage[];
  /** Calls `onUnanswered` when the call fails before the first text. */
  ask(question: Question, onUnanswered: () => void): Promise<void>;
  stop(): void;
  /** Takes note of how the call of a stopped answer ended. */
  settle(turn: number, ended: Generation): void;
  clear(): void;
}

const CHARGE_TRIES = 10;
const CHARGE_WAIT_MS = 300;

interface Conversation {
  readonly turns: readonly Turn[];
  /** Of the call that is running: answers go on while another page is shown. */
  readonly running?: AbortController | undefined;
}

/** Ids are not used again in a later conversation: the charge of an answer may arrive when that has begun. */
let nextId = 0;

/** A conversation: one question at a time, and each paid call only once. */
export function useChat(): Chat {
  const [{ turns, running }, setConversation] = useKept<Conversation>('conversation', { turns: [] });
  const isRunning = running !== undefined;
  const change = (id: number, changed: (turn: Turn) => Partial<Turn>) =>
    setConversation(({ turns: all, ...rest }) => ({
      ...rest,
      turns: all.map((turn) => (turn.id === id ? { ...turn, ...changed(turn) } : turn)),
    }));
  const ask = async (question: Question, onUnanswered: () => void) => {
    const controller = new AbortController();
    const id = nextId + 1;
    nextId += 2;
    const asked: Turn = { id: id - 1, role: 'user', content: question.text };
    const answer: Turn = { id, role: 'assistant', content: '', most: question.most };
    let isFirst = false;
    setConversation((present) => {
      // a second click must not start a second call
      isFirst = present.running === undefined;
      return isFirst ? { turns: [...present.turns, asked, answer], running: controller } : present;
    });
    if (!isFirst) {
      return;
    }
    const messages = messagesOf(question, turns);
    let generation = '';
    let hasText = false;
    try {
      const events = {
        onBegin: (made: string) => {
          generation = made;
        },
        onText: (text: string) => {
          hasText = true;
          change(id, (turn) => ({ content: turn.content + text }));
        },
      };
      await streamChat({ ...question, messages, temperature: undefined }, events, controller.signal);
    } catch (error) {
      change(id, () => (controller.signal.aborted ? { isStopped: true, call: generation } : { error }));
      if (!hasText) {
        onUnanswered();
      }
    }
    setConversation((present) => (present.running === controller ? { turns: present.turns } : present));
    const ended = await endedGeneration(generation);
    change(id, () => ({ generation: ended }));
    refresh('/api/v1/account', '/api/v1/generations');
  };
  return {
    turns,
    isRunning,
    messages: (question) => messagesOf(question, turns),
    ask,
    stop: () => running?.abort(),
    settle: (turn, ended) => change(turn, () => ({ generation: ended })),
    clear: () => setConversation(() => ({ turns: [] })),
  };
}

function messagesOf(
  { system, text }: Pick<Question, 'system' | 'text'>,
  turns: readonly Turn[],
): ChatMessage[] {
  // a question without an answer is not sent again with the next one, which would be priced with it
  const said = turns.filter((turn, place) => isAnswered(turn.role === 'user' ? turns[place + 1] : turn));
  const all = [
    ...said.map(({ role, content }) => ({ role, content })),
    { role: 'user' as const, content: text },
  ];
  return system.trim() === '' ? all : [{ role: 'system', content: system }, ...all];
}

function isAnswered(answer: Turn | undefined): boolean {
  return answer !== undefined && answer.content !== '' && answer.error === undefined;
}

export function hasEnded({ status }: Generation): boolean {
  return status !== 'in_progress' && status !== 'queued';
}

/** Returns the call with its charge from the ledger, or undefined if it takes longer: a provider may bill on after a stop. */
async function endedGeneration(id: string): Promise<Generation | undefined> {
  for (let tries = 0; id !== '' && tries < CHARGE_TRIES; tries += 1) {
    const { data } = await get<Generation>('/api/v1/generation', { id });
    if (hasEnded(data)) {
      return data;
    }
    await new Promise((resolve) => setTimeout(resolve, CHARGE_WAIT_MS));
  }
  return undefined;
}
