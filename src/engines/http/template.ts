import type { z } from 'zod';

type Json = z.core.util.JSONType;

/** The placeholders of a template. `size.…` names a member of the `sizes` entry for the requested size. */
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

/** A suffix of a name that turns its value into a string, for services that expect numbers as strings. */
const AS_TEXT = /\.text$/;

/** Values by placeholder; undefined when the request has none. */
export type TemplateValues = Readonly<Record<string, Json | undefined>>;

/** Returns the first unknown placeholder in a template; undefined when all are known. */
export function unknownPlaceholder(template: unknown): string | undefined {
  const names = [...JSON.stringify(template ?? null).matchAll(PLACEHOLDER)].map(([, name = '']) => name);
  return names.find(
    (name) =>
      !(PLACEHOLDERS as readonly string[]).includes(name.replace(AS_TEXT, '')) && !name.startsWith('size.'),
  );
}

/**
 * Fills in the placeholders of a template. Values are inserted but never expanded: braces in a prompt stay as they are. Returns undefined
 * when the template is a single placeholder without a value; a member of an object is then omitted.
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

/** Placeholders whose values may contain slashes. `SEGMENTS` keeps their segments from leading to another path. */
const SEGMENTED = new Set(['model', 'reference']);
const SEGMENTS = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)+$/;

/** Fills in the placeholders of a path, each as one segment. Only models and references may have several, e.g. `models/a/operations/1`. */
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

/** Returns the value at a path like `output.0.url`; undefined when there is none. */
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
