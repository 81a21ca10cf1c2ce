const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A piece of HTML that is safe to put into a page as it is. Made by {@link html} alone. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** What a template takes: HTML as it is, everything else escaped; nothing for undefined, null and false. */
export type HtmlValue = Html | string | number | undefined | null | false | readonly HtmlValue[];

/**
 * A template that escapes by default: html`<p>${text}</p>`. Values are safe in content and in quoted attributes, not in
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
