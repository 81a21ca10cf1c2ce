const KEYS = [
  /\b(?:bearer|basic)\s+\S+/gi,
  // a JSON Web Token (JWT)
  /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g,
  /\b(?:sk|pk|rk|gsk|xai|nvapi|key|AIza|AKIA)[-_]?[\w*.-]*[\w*-]{8}/g,
];

/** Minimum characters of a quote: upstreams quote at least this much of a prompt, and words shared by chance are shorter. */
const QUOTED_MIN = 16;
/** Only the first part of a longer prompt is searched for. */
const PROMPT_MAX = 20_000;
const MASK = '[prompt]';

/** Masks anything in an upstream's message that looks like a credential, because the message is stored and logged. */
export function maskKeys(text: string): string {
  return KEYS.reduce((masked, pattern) => masked.replace(pattern, '[key]'), text);
}

/** Returns an upstream's words for operators: without keys, and without quotes from the prompt. */
export function redactForOperators(said: string, prompt: string): string {
  const known = prompt.slice(0, PROMPT_MAX);
  const forms = [known, JSON.stringify(known).slice(1, -1)].filter((form) => form.length > 2);
  const masked = forms.reduce((text, form) => text.replaceAll(form, MASK), said);
  return maskKeys(maskQuotes(masked, forms));
}

/** Masks pieces of the prompt, which an upstream leaves behind when it truncates a quote. */
function maskQuotes(text: string, forms: readonly string[]): string {
  let masked = '';
  for (let at = 0; at < text.length; ) {
    const length = Math.max(...forms.map((form) => quotedLength(text, at, form)), 0);
    masked += length > 0 ? MASK : text[at];
    at += Math.max(length, 1);
  }
  return masked;
}

function quotedLength(text: string, at: number, form: string): number {
  let length = QUOTED_MIN;
  if (at + length > text.length || !form.includes(text.slice(at, at + length))) {
    return 0;
  }
  while (at + length < text.length && form.includes(text.slice(at, at + length + 1))) {
    length += 1;
  }
  return length;
}
