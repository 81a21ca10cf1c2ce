import type { z } from 'zod';

type Json = z.core.util.JSONType;

/** What a template can name; `size.` names a member of the order's entry in `sizes`. */
export const PLACEHOLDERS = [
  'prompt',
  'model',
  'kind',
  'width',
  'height',
  'seed',
  'steps',
  'seconds',
  'task',
  'reference',
  'output',
] as const;

const PLACEHOLDER = /\{([a-z]+(?:\.[A-Za-z0-9_]+)?)\}/g;
const WHOLE = /^\{([a-z]+(?:\.[A-Za-z0-9_]+)?)\}$/;

/** Behind a name: its value as text, for services that want numbers so. */
const AS_TEXT = /\.text$/;

/** Values by placeholder; undefined: this order has none. */
export type TemplateValues = Readonly<Record<string, Json | undefined>>;

/** The first placeholder in a template that names nothing an order can have; undefined where all do. */
export function unknownPlaceholder(template: unknown): string | undefined {
  const names = [...JSON.stringify(template ?? null).matchAll(PLACEHOLDER)].map(([, name = '']) => name);
  return names.find(
    (name) =>
      !(PLACEHOLDERS as readonly string[]).includes(name.replace(AS_TEXT, '')) && !name.startsWith('size.'),
  );
}

/**
 * The template with its placeholders filled in. Values are set, never read again: a prompt is a prompt, also one with braces. Undefined
 * where the template is one placeholder without a value: a member of an object is left out then.
 */
export function fillTemplate(template: Json, values: TemplateValues): Json | undefined {
  if (typeof template === 'string') {
    const name = WHOLE.exec(template)?.[1];
    return name === undefined ? fillText(template, values, String) : placedValue(name, values);
  }
  if (Array.isArray(template)) {
    return template.flatMap((item) => fillTemplate(item, values) ?? []);
  }
  if (typeof template === 'object' && template !== null) {
    const members = Object.entries(template).flatMap(([name, value]): [string, Json][] => {
      const filled = fillTemplate(value, values);
      return filled === undefined ? [] : [[name, filled]];
    });
    return Object.fromEntries(members);
  }
  return template;
}

/** Names that may have slashes. No segment of them leads elsewhere. */
const SEGMENTED = new Set(['model', 'reference']);
const SEGMENTS = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)+$/;

/** A path with its placeholders filled in, each as one segment; only models and references may have several, as `models/a/operations/1`. */
export function fillPath(template: string, values: TemplateValues): string {
  return fillText(template, values, (value, name) =>
    SEGMENTED.has(name) && SEGMENTS.test(value) ? value : encodeURIComponent(value),
  );
}

function placedValue(name: string, values: TemplateValues): Json | undefined {
  const value = values[name];
  const plain = value === undefined ? values[name.replace(AS_TEXT, '')] : undefined;
  return plain === undefined ? value : String(plain);
}

function fillText(
  template: string,
  values: TemplateValues,
  write: (value: string, name: string) => string,
): string {
  return template.replace(PLACEHOLDER, (_, name: string) => {
    const value = placedValue(name, values);
    return write(value === undefined || typeof value === 'object' ? '' : String(value), name);
  });
}

/** What stands at a place like `output.0.url`; undefined where nothing does. */
export function valueAt(json: unknown, place: string): unknown {
  let value = json;
  for (const name of place.split('.')) {
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined;
  }
  return value;
}
