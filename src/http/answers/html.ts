const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML that is safe to put into a page as it is. Created by {@link html}, or directly from constants. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** A value in a template: HTML is inserted as it is, undefined, null and false are left out, everything else is escaped. */
export type HtmlValue = Html | string | number | undefined | null | false | readonly HtmlValue[];

/**
 * Renders a template that escapes by default: html`<p>${text}</p>`. Values are safe in content and in quoted attributes, but not in
 * scripts, styles or unquoted attributes.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(markupOf)));
}

function markupOf(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) {
    return '';
  }
  if (Array.isArray(value)) {
    return value.map(markupOf).join('');
  }
  return value instanceof Html
    ? value.toString()
    : String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
