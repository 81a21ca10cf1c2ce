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
] as const;

const PLACEHOLDER = /\{([a-z]+(?:\.[A-Za-z0-9_]+)?)\}/g;
const WHOLE = /^\{([a-z]+(?:\.[A-Za-z0-9_]+)?)\}$/;

/** Values by placeholder; undefined: this order has none. */
export type TemplateValues = Readonly<Record<string, Json | undefined>>;

/** The first placeholder in a template that names nothing an order can have; undefined where all do. */
export function unknownPlaceholder(template: unknown): string | undefined {
  const names = [...JSON.stringify(template ?? null).matchAll(PLACEHOLDER)].map(([, name = '']) => name);
  return names.find(
    (name) => !(PLACEHOLDERS as readonly string[]).includes(name) && !name.startsWith('size.'),
  );
}

/**
 * The template with its placeholders filled in. Values are set, never read again: a prompt is a prompt, also one with braces. Undefined
 * where the template is one placeholder without a value: a member of an object is left out then.
 */
export function fillTemplate(template: Json, values: TemplateValues): Json | undefined {
  if (typeof template === 'string') {
    const name = WHOLE.exec(template)?.[1];
    return name === undefined ? fillText(template, values, String) : values[name];
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

/** A path with its placeholders filled in, each as one segment but `model`, whose slashes stay. */
export function fillPath(template: string, values: TemplateValues): string {
  return fillText(template, values, (value, name) =>
    name === 'model' ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value),
  );
}

function fillText(
  template: string,
  values: TemplateValues,
  write: (value: string, name: string) => string,
): string {
  return template.replace(PLACEHOLDER, (_, name: string) => {
    const value = values[name];
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
