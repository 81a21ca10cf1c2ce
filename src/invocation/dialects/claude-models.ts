import { EFFORTS, type Effort } from './efforts.ts';

/** What a model behind Anthropic's protocol rejects or requires beyond it. */
export interface ClaudeRules {
  /** Members to leave out. */
  readonly drop: readonly string[];
  /** Whether it rejects `temperature` and `top_p` together. */
  readonly oneSampler: boolean;
  /** How to request thinking: with a token budget, or with an effort and the amount left to the model. */
  readonly thinking: 'budget' | 'adaptive';
  /** Whether a model with budgets may also decide by itself. */
  readonly takesAdaptive: boolean;
  /** Efforts that it knows. */
  readonly efforts: readonly Effort[];
  /** Whether it returns the text of its thinking only on request. */
  readonly hidesThinking: boolean;
  /** Whether it thinks when a request says nothing about it. */
  readonly thinksUnasked: boolean;
  /** The type of `thinking` that turns it off, or nearly. Undefined when it always thinks. */
  readonly thinkingOff: 'disabled' | 'between_tools' | undefined;
  /** Whether earlier thinking is rejected when anything before it has changed. */
  readonly bindsThinking: boolean;
  /** Whether a request may force the use of tools. */
  readonly takesForcedTools: boolean;
  /** Whether messages may include turns with the role `system`. */
  readonly systemTurns: boolean;
  /** Whether such a turn may set the effort from there on, or be shown until the next question only. */
  readonly takesTurnEfforts: boolean;
}

/** Rules for models with other names. */
export const PLAIN_CLAUDE_RULES: ClaudeRules = {
  drop: [],
  oneSampler: false,
  thinking: 'budget',
  takesAdaptive: true,
  efforts: ['low', 'medium', 'high', 'max'],
  hidesThinking: false,
  thinksUnasked: false,
  thinkingOff: 'disabled',
  bindsThinking: false,
  takesForcedTools: true,
  systemTurns: false,
  takesTurnEfforts: false,
};

export const SAMPLING: readonly string[] = ['temperature', 'top_p', 'top_k'];

/** Matches `claude-opus-4-7`, `anthropic.claude-sonnet-5-v1:0`, `claude-opus-4.8@2026…`. A date is not a minor version. */
const CLAUDE = /claude-([a-z]+)-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?/;

/** A version of a family from which on something holds. */
interface Since {
  readonly major: number;
  readonly minor: number;
}

const FOUR = (minor: number): Since => ({ major: 4, minor });
const FIVE = (minor: number): Since => ({ major: 5, minor });

/** Sampling settings and thinking budgets are rejected, and thinking is only shown on request. */
const SETTLED = FOUR(7);
const ONE_SAMPLER = FOUR(1);
const SYSTEM_TURNS = FOUR(8);
/** They think without being asked to. */
const THINKING_UNASKED = FIVE(0);
const ADAPTIVE = FOUR(6);

/** By family. Families that are not listed do not have it. */
type SinceByFamily = Readonly<Record<string, Since>>;

/** Source: platform.claude.com/docs, "Effort". */
const EFFORT: SinceByFamily = {
  opus: FOUR(5),
  sonnet: FOUR(6),
  haiku: FIVE(5),
  fable: FIVE(0),
  mythos: FIVE(0),
};

/** Efforts that models with efforts have known only since. */
const LATER_EFFORTS: Partial<Record<Effort, Since>> = { xhigh: SETTLED, max: FOUR(6) };

/** A system turn may set the effort. Source: platform.claude.com/docs, "Per-message effort". */
const TURN_EFFORTS: SinceByFamily = {
  opus: FIVE(0),
  fable: FIVE(1),
  mythos: FIVE(1),
  sonnet: FIVE(5),
  haiku: FIVE(5),
};

/** Thinking blocks are bound to what came before them. Source: platform.claude.com/docs, "Preserved thinking". */
const BOUND_THINKING: SinceByFamily = {
  opus: FIVE(5),
  fable: FIVE(1),
  mythos: FIVE(1),
  sonnet: FIVE(5),
  haiku: FIVE(5),
};

/** Tools can't be forced. Source: platform.claude.com/docs, "What's new in …" of each model. */
const UNFORCED_TOOLS: SinceByFamily = {
  opus: FIVE(5),
  fable: FIVE(1),
  mythos: FIVE(1),
  sonnet: FIVE(5),
};

/** Thinking can't be turned off. Sonnet has a setting of its own instead. */
const ALWAYS_THINKING: SinceByFamily = { opus: FIVE(5), fable: FIVE(0), mythos: FIVE(0) };
const BETWEEN_TOOLS: SinceByFamily = { sonnet: FIVE(5) };

/** Returns what a Claude model rejects or requires, by its name. Others get the rules for unknown models. */
export function claudeRules(model: string): ClaudeRules {
  const match = CLAUDE.exec(model);
  if (!match) {
    return PLAIN_CLAUDE_RULES;
  }
  const [, family = '', major, minor = '0'] = match;
  const is = (since: Since | undefined): boolean =>
    since !== undefined &&
    (Number(major) > since.major || (Number(major) === since.major && Number(minor) >= since.minor));
  const settled = is(SETTLED);
  return {
    drop: settled ? SAMPLING : [],
    oneSampler: !settled && is(ONE_SAMPLER),
    thinking: settled ? 'adaptive' : 'budget',
    takesAdaptive: is(ADAPTIVE),
    efforts: EFFORTS.filter((one) => is(EFFORT[family]) && is(LATER_EFFORTS[one] ?? EFFORT[family])),
    hidesThinking: settled,
    thinksUnasked: is(THINKING_UNASKED),
    thinkingOff: is(ALWAYS_THINKING[family])
      ? undefined
      : is(BETWEEN_TOOLS[family])
        ? 'between_tools'
        : 'disabled',
    bindsThinking: is(BOUND_THINKING[family]),
    takesForcedTools: !is(UNFORCED_TOOLS[family]),
    systemTurns: is(SYSTEM_TURNS),
    takesTurnEfforts: is(TURN_EFFORTS[family]),
  };
}
